"""What judges the files of a stranger before anything is allocated or run: configuration, headers, what will be read, the tokenizer's process."""
