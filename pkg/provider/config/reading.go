package config

// What a reader of another file in the INI form needs (pkg/csi/config reads csi-vsphere.conf), so that mistakes in both
// are told in the same words.

// INISection is one section of an INI file as written.
type INISection struct {
	Name string
	// Sub is the second name, [VirtualCenter "Sub"]; HasSub whether there is one.
	Sub    string
	HasSub bool
	// Line and Column are where its header begins, from 1.
	Line, Column int
	// Commented is whether a comment follows on its line.
	Commented bool
	Entries   []INIEntry
}

// Title is the section's header.
func (s INISection) Title() string {
	return iniSection{name: s.Name, sub: s.Sub, hasSub: s.HasSub}.title()
}

// INIEntry is one variable of a section. A Bare one has no equals sign and stands for true.
type INIEntry struct {
	Key, Value   string
	Bare         bool
	Line, Column int
	// Commented is whether a comment follows on its line, the last one where it has several.
	Commented bool
	// AfterPassword is whether nobody knows the key, and it may be the rest of the password in the lines before.
	AfterPassword bool
}

// Called is what a key is called that nobody knows.
func (e INIEntry) Called() string { return iniEntry{key: e.Key, tail: e.AfterPassword}.called() }

// ReadINI returns the sections in the order of the file, as far as they can be read, and what is wrong with the rest; name
// stands for the file in it.
func ReadINI(name string, data []byte) ([]INISection, []Problem) {
	p := &problems{}
	scanned, _ := scanINI(name, data, p)
	sections := make([]INISection, len(scanned))
	for i, s := range scanned {
		sections[i] = INISection{Name: s.name, Sub: s.sub, HasSub: s.hasSub, Line: s.line, Column: s.column, Commented: s.commented}
		for _, e := range s.entries {
			sections[i].Entries = append(sections[i].Entries, INIEntry{e.key, e.value, e.bare, e.line, e.column, e.commented, e.tail})
		}
	}
	return sections, p.list
}

// LooksLikeINI reports whether text is meant to be INI, by the first line that says anything.
func LooksLikeINI(data []byte) bool { return looksLikeINI(data) }

// HostProblem says what keeps text from being the host of a vCenter, and what to write instead where that is known; both
// are empty when nothing does.
func HostProblem(text string) (message, hint string) {
	message, hint = hostProblem(text)
	if message != "" {
		p := &problems{}
		p.at(position{}, "", message, withoutLogin(text))
		message = p.list[0].Message
	}
	return message, hint
}

// SameHost is whether two ways to write a host are of one.
func SameHost(a, b string) bool { return sameHost(a, b) }

// SortProblems puts problems in the order of the file, those of the environment last.
func SortProblems(all []Problem) []Problem { return (&problems{all}).sorted() }
