package migrate

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Report says what became of every line of the sources that is more than a comment.
type Report struct {
	// Source is the old file, and Dialect whose it is.
	Source  string  `json:"source"`
	Dialect Dialect `json:"dialect"`
	// Lines are in the order of the files.
	Lines []Line `json:"lines"`
	// Todo is what is left to be done by hand.
	Todo []string `json:"todo,omitempty"`
}

// Counts are the numbers of lines by what became of them.
func (r Report) Counts() map[Verdict]int {
	counts := map[Verdict]int{}
	for _, l := range r.Lines {
		counts[l.Verdict]++
	}
	return counts
}

// Text is the report as it is read.
func (r Report) Text() string {
	var b strings.Builder
	n := r.Counts()
	fmt.Fprintf(&b, "%s: %s\n%d kept, %d changed, %d moved, %d dropped\n", r.Source, r.Dialect, n[Kept], n[Changed], n[Moved], n[Dropped])
	file := ""
	for _, l := range r.Lines {
		if l.File != file {
			file = l.File
			fmt.Fprintf(&b, "\n%s\n", file)
		}
		at := fmt.Sprint(l.Line)
		if l.Last > l.Line {
			at = fmt.Sprintf("%d-%d", l.Line, l.Last)
		}
		fmt.Fprintf(&b, "%7s  %-7s  %s\n", at, l.Verdict, l.What)
		for _, to := range l.To {
			fmt.Fprintf(&b, "%18s-> %s\n", "", to)
		}
		if l.Why != "" {
			fmt.Fprintf(&b, "%18s%s\n", "", l.Why)
		}
	}
	if len(r.Todo) > 0 {
		b.WriteString("\nleft to do\n")
		for _, t := range r.Todo {
			b.WriteString("  - " + t + "\n")
		}
	}
	return b.String()
}

// report judges every line of the file, and puts those of the manifests behind it.
func (c *conversion) report() (Report, error) {
	r := Report{Source: c.name, Dialect: c.dialect}
	for _, s := range c.sections {
		known, _ := c.known.section(s.Name)
		of := c.planOf(s.Name, s.Sub)
		line := Line{File: c.name, Line: s.Line, Last: s.Line, What: s.Title()}
		if why, forced := c.unknown[s.Line]; forced {
			line.Verdict, line.Why = Dropped, why
		} else {
			line.take(known.judge(c, of))
		}
		r.Lines = append(r.Lines, line)
		for _, e := range s.Entries {
			line := Line{File: c.name, Line: e.Line, Last: c.lastOf(e.Line), What: s.Title() + " " + e.Key}
			if why, forced := c.unknown[e.Line]; forced {
				line.What, line.Verdict, line.Why = s.Title()+" "+called(e), Dropped, why
			} else if why, passed := c.idle[e.Line]; passed {
				line.Verdict, line.Why = Dropped, why
			} else if k, ok := known.key(e.Key); ok {
				line.take(k.judge(c, located{s, e, of}))
			}
			r.Lines = append(r.Lines, line)
		}
	}
	slices.SortStableFunc(r.Lines, func(a, b Line) int { return cmp.Compare(a.Line, b.Line) })
	comments, err := c.account(r.Lines)
	if err != nil {
		return r, err
	}
	comments += c.lineEnds()
	if comments > 0 {
		c.attend(fmt.Sprintf("keep what is said in the comments of %s, lines of them: %d. They are not carried over", c.name, comments))
	}
	for _, p := range c.suspects {
		c.attend(fmt.Sprintf("check the value of line %d, %s", p.Line, strings.TrimPrefix(p.String(), fmt.Sprintf("%s:%d: ", p.File, p.Line))))
	}
	r.Lines = append(r.Lines, c.lines...)
	r.Todo = c.todo
	return r, nil
}

// lineEnds is how many comments stand at the end of a line.
func (c *conversion) lineEnds() (comments int) {
	for _, s := range c.sections {
		if s.Commented {
			comments++
		}
		for _, e := range s.Entries {
			if e.Commented {
				comments++
			}
		}
	}
	return comments
}

func (l *Line) take(j judgment) { l.Verdict, l.To, l.Why = j.verdict, j.to, j.why }

// planOf is the vCenter that a section is about; nil for all other sections.
func (c *conversion) planOf(section, sub string) *plan {
	for _, p := range c.plans {
		if strings.EqualFold(section, "VirtualCenter") && p.was.Tenant == sub {
			return p
		}
	}
	return nil
}

// account compares the report with the file: every line that is neither empty nor a comment has to be in it once, with a
// verdict. It counts the lines that are comments.
func (c *conversion) account(lines []Line) (comments int, err error) {
	times := map[int]int{}
	for _, l := range lines {
		if l.Verdict == "" {
			return 0, fmt.Errorf("migrate: nothing is known of line %d, %s: this is a mistake of ours", l.Line, l.What)
		}
		for n := l.Line; n <= l.Last; n++ {
			times[n]++
		}
	}
	for i, text := range bytes.Split(c.text, []byte("\n")) {
		switch {
		case times[i+1] > 1, times[i+1] == 0 && !isSilent(text):
			err = errors.Join(err, fmt.Errorf("migrate: line %d of %s is reported %d times: this is a bug", i+1, c.name, times[i+1]))
		case isComment(text):
			comments++
		}
	}
	return comments, err
}

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
	// What is the section or key of the line, without a value.
	What    string  `json:"what"`
	Verdict Verdict `json:"verdict"`
	// To are the places in the new files, "FILE: KEY" each.
	To []string `json:"to,omitempty"`
	// Why is the reason; it may be empty for a kept line.
	Why string `json:"why,omitempty"`
}

// judgment is the part of a Line that depends on its key.
type judgment struct {
	verdict Verdict
	to      []string
	why     string
}

// File is one new file.
type File struct {
	// Name has no directory.
	Name string
	Data []byte
	// Secret files hold credentials: only their owner may read them.
	Secret bool
	// Manifest files are YAML documents for kubectl apply.
	Manifest bool

	masked []byte
}

// Masked returns the text with Withheld in place of every secret.
func (f File) Masked() []byte {
	if f.Secret {
		return f.masked
	}
	return f.Data
}

// Withheld replaces secrets in a masked text.
const Withheld = "(not shown: it is in the files that are written to a folder)"

// files returns all files except the report.
func (c *conversion) files() ([]File, error) {
	conf, err := c.cloudConfig(c.cfg)
	if err != nil {
		return nil, err
	}
	shown, secret := c.maskedNSX()
	masked, err := c.cloudConfig(shown)
	if err != nil {
		return nil, err
	}
	all := []File{
		{Name: "vsphere.conf", Data: conf, Secret: secret, masked: masked},
		{Name: "configmap.yaml", Data: c.configMap(conf), Manifest: true, Secret: secret, masked: c.configMap(masked)},
	}
	for _, p := range c.plans {
		if p.secret != nil {
			all = append(all, File{
				Name: "secret-" + p.secret.Name + ".yaml", Secret: true, Manifest: true,
				Data: c.secret(p, p.csi.User, p.csi.Password), masked: c.secret(p, Withheld, Withheld),
			})
		}
	}
	if n := c.old.NSX; c.nsxSecret != nil {
		all = append(all, File{
			Name: "secret-" + c.nsxSecret.Name + ".yaml", Secret: true, Manifest: true,
			Data: c.accountOfNSX(n.User, n.Password), masked: c.accountOfNSX(Withheld, Withheld),
		})
	}
	all = append(all, File{
		Name: "secret-" + csiSecret + ".yaml", Secret: true, Manifest: true,
		Data: c.csiSecret(c.csiConfig(given)), masked: c.csiSecret(c.csiConfig(withheld)),
	})
	if len(c.classes) == 0 {
		return all, nil
	}
	classes, err := c.classManifests()
	return append(all, File{Name: "storageclasses.yaml", Data: classes, Manifest: true}), err
}

// head returns the comment at the beginning of a file.
func (c *conversion) head(what string) string {
	return fmt.Sprintf("# %s\n# Written by vsphere-sandbox migrate config.\n", what)
}

// Reasons that several keys share.
const (
	noWorkspace  = "volumes are made where their StorageClass and the nodes say, in the vCenters of the new file"
	noHelperVM   = "no helper VM is made any more to find a place for a volume"
	noController = "the CSI driver attaches disks to paravirtual controllers, always"
	noAPI        = "was of a server in cloud-provider-vsphere that nothing starts any more"
	saysNothing  = "is empty: it says nothing"
	everyOwn     = "every vCenter has its own"
)

// lineHint refers to another line.
func lineHint(line int) string { return fmt.Sprintf("in line %d", line) }

// joined are networks as a file has them.
func joined(prefixes []netip.Prefix) string {
	all := make([]string, len(prefixes))
	for i, p := range prefixes {
		all[i] = p.String()
	}
	return strings.Join(all, ",")
}
