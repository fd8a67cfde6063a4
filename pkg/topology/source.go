package topology

import "strconv"

// source is one of the files that a topology is read from. Lines are numbered on from file to file, so that the line of
// a node tells its file, too: base is what a file's own lines are moved by, 0 for the first.
type source struct {
	name string
	base int
}

// sources are the files read so far, by base. There is always the first.
type sources []source

// open begins the next file, behind one whose text had size bytes and so at most as many lines and one.
func (s *sources) open(name string, size int) {
	last := (*s)[len(*s)-1]
	*s = append(*s, source{name: name, base: last.base + size + 2})
}

// find returns the file that a line is in, and its number there.
func (s sources) find(line int) (file source, own int) {
	i := len(s) - 1
	for i > 0 && line <= s[i].base {
		i--
	}
	return s[i], line - s[i].base
}

// describe is a line for a message at another one: its number, and its file where that is a different one.
func (s sources) describe(line, seenFrom int) string {
	file, own := s.find(line)
	if other, _ := s.find(seenFrom); other != file {
		return strconv.Itoa(own) + " of " + file.name
	}
	return strconv.Itoa(own)
}
