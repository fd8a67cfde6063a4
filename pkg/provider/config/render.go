package config

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Mask is what stands for a password in [Config.Masked].
const Mask = "********"

// Masked returns a copy without the passwords.
func (c *Config) Masked() *Config {
	masked := *c
	masked.VCenters = slices.Clone(c.VCenters)
	for i := range masked.VCenters {
		if masked.VCenters[i].Password != "" {
			masked.VCenters[i].Password = Mask
		}
	}
	return &masked
}

// normal is the form that YAML writes: everything in its place, defaults too.
type normal struct {
	Global  *normalGlobal            `yaml:"global,omitempty"`
	VCenter map[string]normalVCenter `yaml:"vcenter"`
	Labels  *Labels                  `yaml:"labels,omitempty"`
	Nodes   *normalNodes             `yaml:"nodes,omitempty"`
}

type normalGlobal struct {
	SecretsDirectory string `yaml:"secretsDirectory"`
}

type normalVCenter struct {
	Server             string     `yaml:"server"`
	Port               int        `yaml:"port"`
	User               string     `yaml:"user,omitempty"`
	Password           string     `yaml:"password,omitempty"`
	SecretName         string     `yaml:"secretName,omitempty"`
	SecretNamespace    string     `yaml:"secretNamespace,omitempty"`
	InsecureFlag       bool       `yaml:"insecureFlag"`
	CAFile             string     `yaml:"caFile,omitempty"`
	Thumbprint         string     `yaml:"thumbprint,omitempty"`
	Datacenters        []string   `yaml:"datacenters,omitempty"`
	SOAPRoundtripCount int        `yaml:"soapRoundtripCount"`
	IPFamily           []IPFamily `yaml:"ipFamily,flow"`
}

type normalNodes struct {
	InternalSubnets        string `yaml:"internalNetworkSubnetCidr,omitempty"`
	ExternalSubnets        string `yaml:"externalNetworkSubnetCidr,omitempty"`
	InternalVMNetwork      string `yaml:"internalVmNetworkName,omitempty"`
	ExternalVMNetwork      string `yaml:"externalVmNetworkName,omitempty"`
	ExcludeInternalSubnets string `yaml:"excludeInternalNetworkSubnetCidr,omitempty"`
	ExcludeExternalSubnets string `yaml:"excludeExternalNetworkSubnetCidr,omitempty"`
}

// YAML writes the configuration as upstream's YAML, which upstream's provider and [Load] both read as this
// configuration. Every vCenter has all its values, so that the global section holds only what has no place elsewhere.
// Passwords are written out: see [Config.Masked].
func (c *Config) YAML() ([]byte, error) {
	n := normal{VCenter: map[string]normalVCenter{}}
	for _, vc := range c.VCenters {
		if vc.SecretsDirectory != "" {
			n.Global = &normalGlobal{vc.SecretsDirectory} // they all have the same
		}
		n.VCenter[vc.Tenant] = normalVCenter{
			vc.Server, vc.Port, vc.User, vc.Password, vc.Secret.Name, vc.Secret.Namespace, vc.InsecureFlag, vc.CAFile,
			vc.Thumbprint, vc.Datacenters, vc.SOAPRoundtripCount, vc.IPFamilies,
		}
	}
	if c.Labels != (Labels{}) {
		n.Labels = &c.Labels
	}
	nodes := normalNodes{
		list(c.Nodes.InternalSubnets), list(c.Nodes.ExternalSubnets), c.Nodes.InternalVMNetwork, c.Nodes.ExternalVMNetwork,
		list(c.Nodes.ExcludeInternalSubnets), list(c.Nodes.ExcludeExternalSubnets),
	}
	if nodes != (normalNodes{}) {
		n.Nodes = &nodes
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return nil, err
	}
	return b.Bytes(), e.Close()
}

// list writes networks without spaces: upstream does not trim them.
func list(prefixes []netip.Prefix) string {
	all := make([]string, len(prefixes))
	for i, p := range prefixes {
		all[i] = p.String()
	}
	return strings.Join(all, ",")
}

// position is where something stands and what it is called there.
type position struct {
	file         string
	line, column int // 0 when there is none, as in the environment
	path         string
}

// cell is a value that may be absent, with where it stands.
type cell[T any] struct {
	value T
	at    position
	set   bool
	bad   bool // it is there and cannot be read, which has been told
}

func (c *cell[T]) put(v T, at position) { *c = cell[T]{value: v, at: at, set: true} }

// spoil notes a value that cannot be read, so that it is not called missing too.
func (c *cell[T]) spoil(at position) { *c = cell[T]{at: at, set: true, bad: true} }

// good is whether there is a value to look at.
func (c cell[T]) good() bool { return c.set && !c.bad }

// or returns the first of two that is set.
func (c cell[T]) or(other cell[T]) cell[T] {
	if c.set {
		return c
	}
	return other
}

// setText puts what is written as plain text, in an INI file or in the environment, into dst, which is a pointer to a
// cell. Text that is empty sets nothing.
func setText(dst any, text string, at position, p *problems) {
	if text == "" {
		return
	}
	switch dst := dst.(type) {
	case *cell[string]:
		dst.put(text, at)
	case *cell[int]:
		n, err := parseInt(text)
		if err != nil {
			p.at(at, "", "must be a whole number, not %q", text)
			dst.spoil(at)
			return
		}
		dst.put(n, at)
	case *cell[bool]:
		b, ok := parseBool(text)
		if !ok {
			p.at(at, "", "must be true or false, not %q", text)
			dst.spoil(at)
			return
		}
		dst.put(b, at)
	case *cell[[]string]:
		if list := splitList(text); len(list) > 0 {
			dst.put(list, at)
		}
	default:
		panic(fmt.Sprintf("config: no cell: %T", dst))
	}
}

// parseInt reads a number as gcfg does: a zero in front does not make it octal.
func parseInt(text string) (int, error) {
	base := 10
	if digits, ok := strings.CutPrefix(strings.ToLower(text), "0x"); ok {
		text, base = digits, 16
	}
	n, err := strconv.ParseInt(text, base, 32)
	return int(n), err
}

// parseBool knows the words of gcfg, and with them those of strconv.ParseBool, which upstream reads the environment by.
func parseBool(text string) (value, ok bool) {
	switch strings.ToLower(text) {
	case "true", "yes", "on", "1", "t":
		return true, true
	case "false", "no", "off", "0", "f":
		return false, true
	}
	return false, false
}

// splitList reads a list with commas; spaces around its items and empty items count for nothing.
func splitList(text string) []string {
	var list []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list
}

// Key is one key of a vsphere.conf, as a person looks it up.
type Key struct {
	// Section is global, vcenter, labels or nodes, as in YAML.
	Section string
	// YAML and INI are its names in the two forms; empty where a form does not know it.
	YAML, INI string
	// Env is the variable of the environment that sets it, and VCEnv the one that does so for the vCenter of an id; empty for
	// none.
	Env, VCEnv string
	// Kind is text, number, true or false, or list; empty for a key that is known and has no effect.
	Kind string
}

// Reference lists every key that a vsphere.conf may have, in the order of its sections. It is made of the tables that files
// are read by.
func Reference() []Key {
	return append(append(append(
		keysOf("global", globalFields()), keysOf("vcenter", vcenterFields())...),
		keysOf("labels", labelFields())...), keysOf("nodes", nodeFields())...)
}

func keysOf[S any](section string, fields []field[S]) []Key {
	keys := make([]Key, 0, len(fields))
	for _, f := range fields {
		k := Key{Section: section, YAML: f.yaml, INI: f.ini}
		if f.into != nil {
			k.Kind = kindOf(f.into(new(S)))
		}
		switch {
		case section == "vcenter" && f.vcEnv != "":
			k.VCEnv = "VCENTER_<id>_" + f.vcEnv
		case section != "vcenter" && f.env != "":
			k.Env = "VSPHERE_" + f.env
		}
		keys = append(keys, k)
	}
	return keys
}

// kindOf names what a cell holds.
func kindOf(dst any) string {
	switch dst.(type) {
	case *cell[int]:
		return "number"
	case *cell[bool]:
		return "true or false"
	case *cell[[]string]:
		return "list"
	}
	return "text"
}

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
