package store

import (
	"fmt"
	"strconv"
	"strings"
)

// Problem is one problem of a folder.
type Problem struct {
	// File is the path inside the folder; empty means the folder itself.
	File string
	// Line is the line in the file; 0 if unknown.
	Line int
	// What describes the problem: lower case, without a full stop.
	What string
	// Try suggests a solution.
	Try string
}

// Where returns "file:line".
func (p Problem) Where() string {
	if p.Line == 0 {
		return p.File
	}
	return p.File + ":" + strconv.Itoa(p.Line)
}

// Error holds all problems of a folder, in the order of its files.
type Error struct {
	Dir      string
	Problems []Problem
}

// shown limits the printed problems: half of a missing folder is enough to know.
const shown = 10

// Error returns the problems, one on a line.
func (e *Error) Error() string {
	lines := make([]string, 0, shown+1)
	for i, p := range e.Problems {
		if i == shown {
			lines = append(lines, fmt.Sprintf("%s: and %d more", e.Dir, len(e.Problems)-shown))
			break
		}
		where := e.Dir
		if p.File != "" {
			where += "/" + p.Where()
		}
		lines = append(lines, where+": "+p.What)
	}
	return strings.Join(lines, "\n")
}

// Try returns the suggestions, each once.
func (e *Error) Try() string {
	var all []string
	seen := map[string]bool{"": true}
	for _, p := range e.Problems {
		if !seen[p.Try] && len(all) < 3 {
			seen[p.Try] = true
			all = append(all, p.Try)
		}
	}
	return strings.Join(all, "\n")
}

// Advice.
const (
	tryAgain  = "save the vCenter again: vsphere-sandbox vcenter save VCENTER DIR, or govc object.save -d DIR"
	tryWhole  = "save the whole vCenter: govc object.save -d DIR, without a path"
	tryNewer  = "load it with the release of vsphere-sandbox that saved it, or a newer one"
	tryEdited = "if the file was edited on purpose, remove its line from " + manifestName
	tryCopy   = "copy the folder again, with everything in it (cp -rL makes files of links)"
	tryDelete = "delete the file to load the folder without the object"
)
