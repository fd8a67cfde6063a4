package bundle

import "time"

// IndexName is the file of an archive that tells what is in it, its last one.
const IndexName = "index.json"

const notice = "Known passwords, tokens, private keys, kubeconfig credentials and whatever looks like one are masked. Names of machines, " +
	"users, folders and files, addresses, certificates and thumbprints are not. Read it before you give it away."

// Index tells what is in an archive, and what is not.
type Index struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Made       time.Time `json:"made"`
	Notice     string    `json:"notice"`
	// Sandboxes are those it is about.
	Sandboxes []About `json:"sandboxes"`
	Files     []Entry `json:"files"`
	// Missing is what could not be had.
	Missing []Missing `json:"missing"`
	// Masked counts the places where a secret stood.
	Masked int `json:"masked"`
}

// About is a sandbox in an archive.
type About struct {
	Name string `json:"name"`
	// State is running or crashed, as its directory says.
	State string `json:"state"`
}

// Entry is a file in an archive.
type Entry struct {
	Path string `json:"path"`
	// What says it in words.
	What string `json:"what"`
	// Bytes is its length there; LeftOut is how many bytes of the original, its oldest, are not.
	Bytes   int   `json:"bytes"`
	LeftOut int64 `json:"leftOut,omitempty"`
}

// Missing is a part that could not be had.
type Missing struct {
	Path string `json:"path"`
	What string `json:"what"`
	Why  string `json:"why"`
}
