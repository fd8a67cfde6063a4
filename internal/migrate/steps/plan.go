package steps

// Plan is the steps in their order.
type Plan struct {
	Cluster string `json:"cluster"`
	Version string `json:"version,omitempty"`
	// Source is the old configuration, and Folder where the new one is.
	Source string `json:"source"`
	Folder string `json:"folder"`
	// Notes are to be read first, one line each.
	Notes []string `json:"notes,omitempty"`
	Steps []Step   `json:"steps"`
}

// Step is one of them: done and seen to have worked before the next one is begun.
type Step struct {
	// ID is the same in every release: "csi-driver".
	ID    string `json:"id"`
	Title string `json:"title"`
	// Why is what the step is for, and Text what no command says.
	Why  string   `json:"why"`
	Text []string `json:"text,omitempty"`
	// Commands are in their order. Done says how to see that they have worked, Undo is the way back.
	Commands []Command `json:"commands,omitempty"`
	Done     []Command `json:"verify,omitempty"`
	Undo     []Command `json:"rollback,omitempty"`
	// UndoText is what no command says of the way back.
	UndoText string `json:"rollbackText,omitempty"`
}

// Command is a command line of a shell.
type Command struct {
	// On is where it is run: a node's name, or empty for where kubectl is.
	On string `json:"on,omitempty"`
	// What is what it does, or what is to be seen, where that is not plain.
	What string `json:"what,omitempty"`
	Run  string `json:"run"`
}
