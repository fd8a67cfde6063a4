package migrate

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// mostProblems is more than anyone reads.
const mostProblems = 1000

// mostVCenters are more than a cluster spans. The new files say for each what the old one said once for all.
const mostVCenters = 500

// read splits the file and parses it with the provider's reader. That reader does not get the lines that only this package knows,
// those that the file's dialect ignores, and, with Force, unknown ones.
func (c *conversion) read() error {
	var scanning []config.Problem
	c.sections, scanning = config.ReadINI(c.name, c.text)
	if n := c.countVCenters(); n > mostVCenters {
		return problem(c.name, fmt.Sprintf("file has sections of %d vCenters, and may have %d", n, mostVCenters), "")
	}
	c.unknown = map[int]string{}
	c.dialect = c.known.dialect(c.sections)
	c.asInTree()
	own := c.check()
	for _, all := range [][]config.Problem{scanning, own} {
		if len(all) > mostProblems { // this is no configuration: there is nothing to be had from looking closer
			return &config.Error{Problems: all[:mostProblems]}
		}
	}
	shown := c.shown()
	cfg, problems := config.Check(c.name, shown)
	for _, p := range problems {
		if p.Suspect {
			c.suspects = append(c.suspects, p)
		}
	}
	problems = errorsOf(problems)
	if len(scanning) == 0 { // else a key may only seem to be another's, or to be missing
		problems = c.merge(problems, own)
	} else {
		problems = slices.DeleteFunc(problems, func(p config.Problem) bool { return strings.HasPrefix(p.Message, "credentials are missing") })
	}
	for i := range problems {
		if c.listed[problems[i].Line] {
			problems[i].Path = strings.TrimSuffix(problems[i].Path, "s") // it was shown as a list
		}
		if strings.HasPrefix(problems[i].Message, "credentials are missing") && problems[i].Hint == "" {
			problems[i].Hint = "or, if they are in " + config.DefaultSecretsDirectory + " by default, write it as secrets-directory under [Global]"
		}
	}
	if c.value("Global", "vm-name") != "" && len(problems) == 1 && problems[0].Line == 0 {
		problems[0].Hint = "this is the file of a node, which needs none any more: convert that of the control plane"
	}
	if len(problems) > 0 {
		return &config.Error{Problems: config.SortProblems(problems)}
	}
	c.old = cfg
	return nil
}

func (c *conversion) countVCenters() int {
	names := map[string]bool{}
	for _, s := range c.sections {
		if strings.EqualFold(s.Name, "VirtualCenter") {
			names[s.Sub] = true
		}
	}
	return len(names)
}

// check notes what is not known, and what stands twice where the provider's reader does not look.
func (c *conversion) check() (problems []config.Problem) {
	add := func(path string, line, column int, message string, hinted func() string, forcible bool) {
		hint := ""
		if len(problems) < mostProblems {
			hint = hinted()
		}
		if forcible && c.opts.Force {
			why := message
			if hint != "" {
				why += ", " + hint
			}
			c.unknown[line] = why
			return
		}
		problems = append(problems, config.Problem{File: c.name, Line: line, Column: column, Path: path, Message: message, Hint: hint})
	}
	none := func() string { return "" }
	for _, s := range c.sections {
		known, ok := c.known.section(s.Name)
		switch {
		case !ok:
			add(s.Title(), s.Line, s.Column, "unknown section", func() string { return c.known.sectionHint(s.Name) }, true)
		case known.idle != "":
			c.unknown[s.Line] = known.idle
		case known.unread && s.HasSub:
			add(s.Title(), s.Line, s.Column, "this section has no second name", none, false)
		}
		if !ok || known.idle != "" {
			if _, drop := c.unknown[s.Line]; drop {
				for _, e := range s.Entries {
					c.unknown[e.Line] = c.unknown[s.Line]
				}
			}
			continue
		}
		for _, e := range s.Entries {
			if _, ok := known.key(e.Key); !ok {
				add(s.Title()+" "+called(e), e.Line, e.Column, "unknown key", func() string { return c.known.keyHint(known, e.Key) }, true)
			}
		}
	}
	return append(problems, c.twice()...)
}

// called returns the name of an unknown key for messages. A word alone on a line may be the rest of a password.
func called(e config.INIEntry) string {
	if e.Bare {
		return "(a word that stands alone)"
	}
	return e.DisplayKey()
}

// twice notes keys that the provider's reader does not look at and that are set again.
func (c *conversion) twice() (problems []config.Problem) {
	set := map[string]int{}
	for _, s := range c.sections {
		known, ok := c.known.section(s.Name)
		for _, e := range s.Entries {
			if _, found := known.key(e.Key); !ok || !found || !known.unread {
				continue
			}
			path := s.Title() + " " + e.Key
			if line := set[strings.ToLower(path)]; line > 0 {
				problems = append(problems, config.Problem{
					File: c.name, Line: e.Line, Column: e.Column, Path: path, Message: "is set already", Hint: lineHint(line),
				})
				continue
			}
			set[strings.ToLower(path)] = e.Line
		}
	}
	return problems
}

// shown is the text as the provider's reader gets it: lines are emptied or say what they meant, and none is left out, so
// that it counts them as they are.
func (c *conversion) shown() []byte {
	lines := bytes.Split(c.text, []byte("\n"))
	hide := func(line int) { clear(lines[line-1 : c.lastOf(line)]) }
	for _, s := range c.sections {
		if _, drop := c.unknown[s.Line]; drop {
			hide(s.Line)
		}
		for _, e := range s.Entries {
			_, drop := c.unknown[e.Line]
			_, idle := c.idle[e.Line]
			switch {
			case drop || idle:
				hide(e.Line)
			case c.listed[e.Line]:
				lines[e.Line-1] = asList(lines[e.Line-1])
			}
		}
	}
	return bytes.Join(lines, []byte("\n"))
}

// lastOf returns the last line of the value that begins in a line: a backslash at the end continues it.
func (c *conversion) lastOf(line int) int {
	if c.starts == nil {
		c.starts = map[int]bool{}
		for _, s := range c.sections {
			c.starts[s.Line] = true
			for _, e := range s.Entries {
				c.starts[e.Line] = true
			}
		}
		c.physical = bytes.Split(c.text, []byte("\n"))
	}
	for line < len(c.physical) && bytes.HasSuffix(c.physical[line-1], []byte(`\`)) && !c.starts[line+1] && !isSilent(c.physical[line]) {
		line++
	}
	return line
}

// merge puts our problems beside the provider's. Where both are about one line, theirs stays, with our hint if it has none.
func (c *conversion) merge(theirs, ours []config.Problem) []config.Problem {
	at := map[int]int{}
	for i, p := range theirs {
		if p.Message == "unknown key" || p.Message == "unknown section" {
			at[p.Line] = i
		}
	}
	for _, p := range ours {
		if i, ok := at[p.Line]; ok {
			theirs[i].Path = p.Path
			if theirs[i].Hint == "" {
				theirs[i].Hint = p.Hint
			}
			continue
		}
		theirs = append(theirs, p)
	}
	return theirs
}

// Dialect is whose file an old file is.
type Dialect string

// The dialects.
const (
	// InTree is a file of the provider in Kubernetes, which stopped at a key that it did not know.
	InTree Dialect = "in-tree"
	// OutOfTree has a key that only cloud-provider-vsphere knows. That ignored sections that it did not know.
	OutOfTree Dialect = "out-of-tree"
	// Either has only keys that both know.
	Either Dialect = "either"
)

// String says it in a sentence.
func (d Dialect) String() string {
	switch d {
	case InTree:
		return "a file of the in-tree provider"
	case OutOfTree:
		return "an INI file of cloud-provider-vsphere"
	}
	return "a file that the in-tree provider and cloud-provider-vsphere both read"
}

// readers are who knows a section or a key.
type readers uint8

const (
	unknown readers = 0
	inTree  readers = 1
	outside readers = 2
	both            = inTree | outside
)

// dialect looks at the sections and keys that only one of them knows.
func (all known) dialect(of []config.INISection) Dialect {
	var old bool
	for _, s := range of {
		section, ok := all.section(s.Name)
		if !ok {
			continue
		}
		if section.readers == outside {
			return OutOfTree
		}
		old = old || section.readers == inTree
		for _, e := range s.Entries {
			k, ok := section.key(e.Key)
			if ok && k.readers == outside {
				return OutOfTree
			}
			old = old || ok && k.readers == inTree
		}
	}
	if old {
		return InTree
	}
	return Either
}

// urls are those of datastores, and which of them anything asked for.
type urls struct {
	given map[string]string
	used  map[string]bool
	asked []string
}

// of is the URL of a datastore; empty when it is not known.
func (u *urls) of(name string) string {
	u.used[name] = true
	u.asked = append(u.asked, name)
	return u.given[name]
}

// unused are the problems of URLs that are none, or that nothing asked for: a name that is mistyped would be lost.
func (u *urls) unused() (problems []config.Problem) {
	for _, name := range slices.Sorted(maps.Keys(u.given)) {
		p := config.Problem{File: "datastore URLs", Path: name}
		switch {
		case !strings.HasPrefix(u.given[name], "ds:///"):
			p.Message = "the URL of a datastore begins with ds:///"
		case u.used[name]:
			continue
		default:
			p.Message = "neither the file nor a StorageClass names this datastore"
			if best := nearest.Of(name, u.asked); best != "" {
				p.Hint = "did you mean " + best + "?"
			}
		}
		problems = append(problems, p)
	}
	return problems
}

const (
	secretFirst = "had no effect: a Secret or a directory that is named comes first"
	halfSecret  = "had no effect: a Secret's name and namespace were needed together"
	noServer    = "had no effect: where there are sections of vCenters, those were all"
	noThumb     = "had no effect: where there are sections of vCenters, each says its own"
	oneOfTwo    = "had no effect: where no vCenter has a section, datacenter came first"
	lastOfTwo   = "had no effect beside a list of datacenters"
	zeroCount   = "0 says nothing: it was the global number, or 3"
	zeroPort    = "0 says nothing: it is the global port, or 443"
)

// zero is a number that says nothing, as the readers of both providers have it for the count.
var zero = regexp.MustCompile(`^(0[xX])?0+$`)

// asInTree notes what the in-tree provider made something else of than cloud-provider-vsphere does, whose reader
// [config.Check] is: the lines that it went past, and those of [Global] datacenter that were a list of datacenters. Source:
// populateVsphereInstanceMap in legacy-cloud-providers/vsphere/vsphere.go.
func (c *conversion) asInTree() {
	c.idle, c.listed = map[int]string{}, map[int]bool{}
	for _, s := range c.sections {
		for _, e := range s.Entries {
			switch key := strings.ToLower(e.Key); {
			case !zero.MatchString(e.Value):
			case key == "soap-roundtrip-count":
				c.idle[e.Line] = zeroCount
			case key == "port":
				c.idle[e.Line] = zeroPort
			}
		}
	}
	if c.dialect != InTree {
		return
	}
	name, namespace := c.value("Global", "secret-name") != "", c.value("Global", "secret-namespace") != ""
	for _, s := range c.sections {
		global := strings.EqualFold(s.Name, "Global")
		if !global && !strings.EqualFold(s.Name, "VirtualCenter") {
			continue
		}
		for _, e := range s.Entries {
			switch key := strings.ToLower(e.Key); {
			case !says(e):
			case (key == "user" || key == "password") && name && namespace:
				c.idle[e.Line] = secretFirst
			case (key == "secret-name" || key == "secret-namespace") && name != namespace:
				c.idle[e.Line] = halfSecret
			case global && c.hasVCenters():
				c.asBesideSections(key, e)
			case global:
				c.asAlone(key, e)
			}
		}
	}
	if len(c.listed) > 0 {
		c.passEmptyLists()
	}
}

// asBesideSections is about a global key where vCenters have sections.
func (c *conversion) asBesideSections(key string, e config.INIEntry) {
	switch {
	case key == "server" && !c.isSection(e.Value):
		c.idle[e.Line] = noServer
	case key == "thumbprint":
		c.idle[e.Line] = noThumb
	case key == "datacenter" && c.globalList():
		c.idle[e.Line] = lastOfTwo
	case key == "datacenter":
		c.listed[e.Line] = true
	}
}

// asAlone is about a global key where no vCenter has a section.
func (c *conversion) asAlone(key string, e config.INIEntry) {
	switch {
	case key == "datacenters" && c.value("Global", "datacenter") != "":
		c.idle[e.Line] = oneOfTwo
	case key == "datacenter":
		c.listed[e.Line] = true
	}
}

// passEmptyLists has a list that is empty not be one beside what is made of datacenter.
func (c *conversion) passEmptyLists() {
	for _, s := range c.sections {
		for _, e := range s.Entries {
			if strings.EqualFold(s.Name, "Global") && strings.EqualFold(e.Key, "datacenters") && !says(e) {
				c.idle[e.Line] = saysNothing
			}
		}
	}
}

// globalList is whether [Global] has a list of datacenters.
func (c *conversion) globalList() bool {
	return strings.Trim(c.value("Global", "datacenters"), " \t,") != ""
}

func (c *conversion) hasVCenters() bool {
	return slices.ContainsFunc(c.sections, func(s config.INISection) bool {
		return strings.EqualFold(s.Name, "VirtualCenter")
	})
}

// isSection is whether a vCenter's section has the name of a host.
func (c *conversion) isSection(host string) bool {
	return slices.ContainsFunc(c.sections, func(s config.INISection) bool {
		return strings.EqualFold(s.Name, "VirtualCenter") && config.SameHost(s.Sub, host)
	})
}

// asList is a line of datacenter as one of datacenters. A line begins with its key.
func asList(line []byte) []byte {
	end := len(line) - len(bytes.TrimLeft(line, " \t\r")) + len("datacenter")
	return append(append(bytes.Clone(line[:end]), 's'), line[end:]...)
}
