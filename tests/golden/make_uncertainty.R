# Standard errors of ranger's forests, with how often each row was drawn and what each tree answers; called by
# make_uncertainty.py with the folder to write to. No more than 20 rows are predicted: ranger calibrates the errors of more.
suppressMessages(library(ranger))
folder <- commandArgs(trailingOnly = TRUE)[1]
train <- read.csv(file.path(folder, "train.csv"))
test <- read.csv(file.path(folder, "test.csv"))
describe <- function(name, ...) {
  forest <- ranger(target ~ ., train, num.trees = 60, keep.inbag = TRUE, seed = 1, num.threads = 1, ...)
  errors <- suppressWarnings(predict(forest, test, type = "se", se.method = "infjack", num.threads = 1)$se)
  answers <- predict(forest, test, predict.all = TRUE, num.threads = 1)$predictions
  write <- function(values, part) {
    write.table(format(values, digits = 17), file.path(folder, paste0(name, "_", part, ".txt")),
                quote = FALSE, row.names = FALSE, col.names = FALSE)
  }
  write(errors, "errors")
  write(answers, "answers")
  write(simplify2array(forest$inbag.counts), "counts")
}
describe("bootstrap")
describe("subsample", replace = FALSE, sample.fraction = 0.5)
writeLines(as.character(packageVersion("ranger")), file.path(folder, "version.txt"))
