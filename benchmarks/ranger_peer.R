# Grows a random forest with ranger and prints, as JSON: processor and wall seconds of ranger() alone, its peak memory above
# the table, leaves, seconds of predict() and the test error (as forest_tables.py defines it).
# Rscript ranger_peer.R <table.bin> <rows> <columns> <trees> [<mtry> <kind> <threads> <test rows>]
# The file has doubles, column after column, the target last; the test rows are below the training rows.

arguments <- commandArgs(trailingOnly = TRUE)
sizes <- as.integer(arguments[2:4])
option <- function(place, default) if (length(arguments) < place) default else arguments[place]
mtry <- as.integer(option(5, floor(sqrt(sizes[2]))))
is_class <- option(6, "classification") == "classification"
threads <- as.integer(option(7, 1))
n_test <- as.integer(option(8, 0))
suppressPackageStartupMessages(library(ranger))

numbers <- readBin(arguments[1], "double", n = (sizes[1] + n_test) * (sizes[2] + 1))
table <- matrix(numbers, nrow = sizes[1] + n_test)
names <- paste0("x", seq_len(sizes[2]))
part <- function(rows) {
  x <- table[rows, seq_len(sizes[2]), drop = FALSE]
  colnames(x) <- names
  x
}
training <- seq_len(sizes[1])
x <- part(training)
y <- table[training, sizes[2] + 1]
if (is_class) y <- factor(y)
x_test <- part(sizes[1] + seq_len(n_test))
y_test <- table[sizes[1] + seq_len(n_test), sizes[2] + 1]
rm(numbers, table)
invisible(gc())

grow <- function(x, y, trees) {
  ranger(
    x = x, y = y, num.trees = trees, mtry = mtry, min.node.size = 1, num.threads = threads,
    oob.error = FALSE, verbose = FALSE, seed = 1
  )
}
megabytes <- function(what) {
  line <- grep(what, readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) / 1024
}
spent <- function(times) times[["user.self"]] + times[["sys.self"]]

few <- seq_len(min(300, sizes[1]))
invisible(grow(x[few, , drop = FALSE], if (is_class) droplevels(y[few]) else y[few], 2))
invisible(gc())
cat("5", file = "/proc/self/clear_refs") # the peak begins anew
memory <- megabytes("VmRSS")
before <- proc.time()
forest <- grow(x, y, sizes[3])
times <- proc.time() - before
memory <- megabytes("VmHWM") - memory
leaves <- sum(sapply(forest$forest$child.nodeIDs, function(children) sum(children[[1]] == 0)))

error <- predict_seconds <- NA
if (n_test > 0) {
  for (turn in 1:3) {
    before <- proc.time()
    answers <- predict(forest, x_test, num.threads = threads, verbose = FALSE)$predictions
    predict_seconds <- min(predict_seconds, spent(proc.time() - before), na.rm = TRUE)
  }
  if (is_class) {
    error <- 100 * mean(as.numeric(as.character(answers)) != y_test)
  } else {
    error <- 100 * sqrt(mean((answers - y_test)^2)) / sqrt(mean((y_test - mean(y_test))^2))
  }
}
value <- function(number) if (is.na(number)) "null" else sprintf("%.6g", number)
cat(sprintf(
  paste0(
    '{"seconds": %.3f, "wall": %.3f, "memory": %.1f, "leaves": %.0f, "predict_seconds": %s, "error": %s, ',
    '"ranger": "%s", "R": "%s.%s"}\n'
  ),
  spent(times), times[["elapsed"]], memory, leaves, value(predict_seconds), value(error),
  packageVersion("ranger"), R.version$major, R.version$minor
))
