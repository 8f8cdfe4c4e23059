# Seconds that ranger takes to grow a random forest in one thread, printed as JSON; only ranger() itself is timed.
# Rscript ranger_peer.R <table.bin> <rows> <columns> <trees>: doubles column after column, the class codes last.

arguments <- commandArgs(trailingOnly = TRUE)
sizes <- as.integer(arguments[2:4])
suppressPackageStartupMessages(library(ranger))

numbers <- readBin(arguments[1], "double", n = sizes[1] * (sizes[2] + 1))
table <- matrix(numbers, nrow = sizes[1])
x <- table[, seq_len(sizes[2]), drop = FALSE]
colnames(x) <- paste0("x", seq_len(sizes[2]))
y <- factor(table[, sizes[2] + 1])

grow <- function(trees) {
  ranger(
    x = x, y = y, num.trees = trees, mtry = floor(sqrt(sizes[2])), min.node.size = 1, num.threads = 1,
    oob.error = FALSE, verbose = FALSE, seed = 1
  )
}
invisible(grow(1))
before <- proc.time()
invisible(grow(sizes[3]))
spent <- proc.time() - before
cat(sprintf(
  '{"seconds": %.3f, "ranger": "%s", "R": "%s.%s"}\n',
  spent[["user.self"]] + spent[["sys.self"]], packageVersion("ranger"), R.version$major, R.version$minor
))
