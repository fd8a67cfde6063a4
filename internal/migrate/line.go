package migrate

// Verdict is what became of a line.
type Verdict string

// The verdicts.
const (
	// Kept: the same is said in a new file, if by another name.
	Kept Verdict = "kept"
	// Changed: it is said differently, or less of it.
	Changed Verdict = "changed"
	// Moved: it is said in another place than vsphere.conf.
	Moved Verdict = "moved"
	// Dropped: it is said nowhere any more.
	Dropped Verdict = "dropped"
)

// Line is what became of one line, or of several that belong together.
type Line struct {
	// File is the name of the source; Line and Last are its first and last line, from 1.
	File string `json:"file"`
	Line int    `json:"line"`
	Last int    `json:"last"`
	// What is what stands there: a section, a key. It has no value in it.
	What    string  `json:"what"`
	Verdict Verdict `json:"verdict"`
	// To are the places where it is said now, "FILE: KEY" each.
	To []string `json:"to,omitempty"`
	// Why is empty where a line is kept and there is nothing to say about it.
	Why string `json:"why,omitempty"`
}

// judgment is the part of a line that has to be thought about.
type judgment struct {
	verdict Verdict
	to      []string
	why     string
}
