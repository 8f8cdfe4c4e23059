# Proximities of a forest of randomForest, with its trees and how often each row was drawn; called by make_proximity.py
# with the folder to write to.
suppressMessages(library(randomForest))
folder <- commandArgs(trailingOnly = TRUE)[1]
train <- read.csv(file.path(folder, "train.csv"))
train$target <- factor(train$target)
write <- function(values, part) {
  write.table(format(values, digits = 17, trim = TRUE), file.path(folder, paste0(part, ".txt")),
              quote = FALSE, row.names = FALSE, col.names = FALSE)
}
grow <- function(only_oob) {
  set.seed(1)
  randomForest(target ~ ., train, ntree = 25, keep.inbag = TRUE, proximity = TRUE, oob.prox = only_oob)
}
forest <- grow(TRUE)
write(forest$proximity, "oob")
write(grow(FALSE)$proximity, "plain")
write(forest$inbag, "counts")
for (number in seq_len(forest$ntree)) write(getTree(forest, number), paste0("tree", number))
writeLines(as.character(packageVersion("randomForest")), file.path(folder, "version.txt"))
