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

// Mask replaces passwords in [Config.Masked].
const Mask = "********"

// Masked returns a copy with the passwords replaced.
func (c *Config) Masked() *Config {
	masked := *c
	masked.VCenters = slices.Clone(c.VCenters)
	for i := range masked.VCenters {
		if masked.VCenters[i].Password != "" {
			masked.VCenters[i].Password = Mask
		}
	}
	masked.NSX = c.NSX.masked()
	return &masked
}

// normal is the form that YAML writes, with all defaults.
type normal struct {
	Global  *normalGlobal            `yaml:"global,omitempty"`
	VCenter map[string]normalVCenter `yaml:"vcenter"`
	Labels  *Labels                  `yaml:"labels,omitempty"`
	Nodes   *normalNodes             `yaml:"nodes,omitempty"`

	NSXT              *normalNSX             `yaml:"nsxt,omitempty"`
	LoadBalancer      *normalBalancer        `yaml:"loadBalancer,omitempty"`
	LoadBalancerClass map[string]normalClass `yaml:"loadBalancerClass,omitempty"`
	Route             *Route                 `yaml:"route,omitempty"`
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

// YAML returns the configuration as upstream's YAML, which both upstream's provider and [Load] read as this configuration.
// Every vCenter has all its values; the global section has only those that a vCenter cannot have. Passwords are included: see
// [Config.Masked].
func (c *Config) YAML() ([]byte, error) {
	n := normal{VCenter: map[string]normalVCenter{}}
	for _, vc := range c.VCenters {
		if vc.SecretsDirectory != "" {
			n.Global = &normalGlobal{vc.SecretsDirectory} // the same for all
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
	c.balancersTo(&n)
	n.Route = c.Route
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return nil, err
	}
	return b.Bytes(), e.Close()
}

// list joins networks without spaces, which upstream does not trim.
func list(prefixes []netip.Prefix) string {
	all := make([]string, len(prefixes))
	for i, p := range prefixes {
		all[i] = p.String()
	}
	return strings.Join(all, ",")
}

// position is the place of a key and its name there.
type position struct {
	file         string
	line, column int // 0 for none, as in the environment
	path         string
}

// cell is an optional value with its position.
type cell[T any] struct {
	value T
	at    position
	set   bool
	bad   bool // set but not readable, which has been reported
	// hint is how to write the value as it was meant. If the cell is not set, at and hint are those of a key without a value.
	hint string
}

func (c *cell[T]) put(v T, at position) { *c = cell[T]{value: v, at: at, set: true} }

// setBad records a value that is not readable, so that it is not reported missing too.
func (c *cell[T]) setBad(at position) { *c = cell[T]{at: at, set: true, bad: true} }

// good reports whether there is a readable value.
func (c cell[T]) good() bool { return c.set && !c.bad }

func (c cell[T]) or(other cell[T]) cell[T] {
	if c.set {
		return c
	}
	return other
}

// leftOut records that the key was written and has no value.
func (c *cell[T]) leftOut(at position, hint string) {
	if !c.set {
		c.at, c.hint = at, hint
	}
}

// setText sets dst, a pointer to a cell, to plain text from an INI file or the environment. Empty text and the number 0 set
// nothing.
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
			dst.setBad(at)
			return
		}
		if n != 0 {
			dst.put(n, at)
		}
	case *cell[bool]:
		b, ok := parseBool(text)
		if !ok {
			p.at(at, "", "must be true or false, not %q", text)
			dst.setBad(at)
			return
		}
		dst.put(b, at)
	case *cell[[]string]:
		if list := splitList(text); len(list) > 0 {
			dst.put(list, at)
		}
	case *cell[map[string]string]:
		setTags(dst, text, at, p)
	default:
		panic(fmt.Sprintf("config: no cell: %T", dst))
	}
}

// parseInt parses a number as gcfg does: with a leading zero it is still decimal.
func parseInt(text string) (int, error) {
	base := 10
	if digits, ok := strings.CutPrefix(strings.ToLower(text), "0x"); ok {
		text, base = digits, 16
	}
	n, err := strconv.ParseInt(text, base, 32)
	return int(n), err
}

// parseBool accepts the words of gcfg, and those of strconv.ParseBool, with which upstream reads the environment.
func parseBool(text string) (value, ok bool) {
	switch strings.ToLower(text) {
	case "true", "yes", "on", "1", "t":
		return true, true
	case "false", "no", "off", "0", "f":
		return false, true
	}
	return false, false
}

// splitList splits a comma-separated list; it drops spaces around items, and empty items.
func splitList(text string) []string {
	var list []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list
}

// Key describes one key of vsphere.conf.
type Key struct {
	// Section is global, vcenter, labels, nodes, nsxt, loadBalancer, loadBalancerClass or route, as in YAML.
	Section string
	// YAML and INI are its names in the two formats; empty if a format does not have it.
	YAML, INI string
	// Env is the environment variable that sets it, and VCEnv the one for the vCenter with an id; empty for none.
	Env, VCEnv string
	// Kind is text, number, true or false, list, or mapping; empty for a known key without effect.
	Kind string
}

// Reference lists every key of vsphere.conf, in the order of its sections. It comes from the tables that the parser uses.
func Reference() []Key {
	return slices.Concat(
		keysOf("global", globalFields()), keysOf("vcenter", vcenterFields()), keysOf("labels", labelFields()), keysOf("nodes", nodeFields()),
		keysOf("nsxt", nsxtFields()), keysOf("loadBalancer", balancerFields()), keysOf("loadBalancerClass", classFields()), keysOf("route", routeFields()),
	)
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
		case section == "nsxt" && f.env != "":
			k.Env = nsxtPrefix + f.env
		case section != "vcenter" && f.env != "":
			k.Env = varPrefix + f.env
		}
		keys = append(keys, k)
	}
	return keys
}

// kindOf returns the [Key] kind of a cell.
func kindOf(dst any) string {
	switch dst.(type) {
	case *cell[int]:
		return "number"
	case *cell[bool]:
		return "true or false"
	case *cell[[]string]:
		return "list"
	case *cell[map[string]string]:
		return "mapping"
	}
	return "text"
}

// The exported part of the INI parser, for other files in that format (pkg/csi/config reads csi-vsphere.conf), so that both
// report errors in the same way.

// INISection is one section of an INI file.
type INISection struct {
	Name string
	// Sub is the second name, [VirtualCenter "Sub"]; HasSub reports whether there is one.
	Sub    string
	HasSub bool
	// Line and Column are the position of its header, from 1.
	Line, Column int
	// Commented reports whether a comment follows on its line.
	Commented bool
	Entries   []INIEntry
}

// Title returns the section's header.
func (s INISection) Title() string {
	return iniSection{name: s.Name, sub: s.Sub, hasSub: s.HasSub}.title()
}

// INIEntry is one variable of a section. A Bare one has no equals sign and means true.
type INIEntry struct {
	Key, Value   string
	Bare         bool
	Line, Column int
	// Commented reports whether a comment follows on its (last) line.
	Commented bool
	// AfterPassword reports that the key is unknown and may be the rest of the password in the lines before.
	AfterPassword bool

	scanned iniEntry
}

// Suspicions returns warnings that quotes, backslashes or comments may have changed the value from what its author meant; file
// and path are in their positions.
func (e INIEntry) Suspicions(file, path string) []Problem {
	p := &problems{}
	at := position{file: file, line: e.Line, column: e.Column, path: path}
	lintINI(e.scanned, isLogin(strings.ToLower(e.Key)), at, p)
	return p.list
}

// DisplayKey returns the key for messages.
func (e INIEntry) DisplayKey() string {
	return iniEntry{key: e.Key, afterPassword: e.AfterPassword}.called()
}

// ReadINI returns the readable sections in the order of the file, and the problems of the rest; name is the file name in
// them.
func ReadINI(name string, data []byte) ([]INISection, []Problem) {
	p := &problems{}
	scanned, _ := scanINI(name, data, p)
	sections := make([]INISection, len(scanned))
	for i, s := range scanned {
		sections[i] = INISection{Name: s.name, Sub: s.sub, HasSub: s.hasSub, Line: s.line, Column: s.column, Commented: s.commented}
		for _, e := range s.entries {
			sections[i].Entries = append(sections[i].Entries, INIEntry{e.key, e.value, e.bare, e.line, e.column, e.commented, e.afterPassword, e})
		}
	}
	return sections, p.list
}

// LooksLikeINI reports whether text is meant to be INI, by its first significant line.
func LooksLikeINI(data []byte) bool { return looksLikeINI(data) }

// HostProblem returns why text is not the host of a vCenter, and a suggestion if there is one; both are empty for a valid
// host.
func HostProblem(text string) (message, hint string) {
	message, hint = hostProblem(text)
	if message != "" {
		p := &problems{}
		p.at(position{}, "", message, withoutLogin(text))
		message = p.list[0].Message
	}
	return message, hint
}

// SameHost reports whether two texts are the same host.
func SameHost(a, b string) bool { return sameHost(a, b) }

// SortProblems sorts problems in the order of the file, those of the environment last.
func SortProblems(all []Problem) []Problem { return (&problems{all}).sorted() }
