module example.com/go_labels

go 1.13
