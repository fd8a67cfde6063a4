package topology

import (
	_ "embed"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// rule returns the problem of a name, and a similar valid name. An empty complaint means that the name is valid.
type rule func(name string) (complaint, hint string)

// dnsLabel is RFC 1123: a label of DNS, valid in Kubernetes and file systems.
func dnsLabel(name string) (complaint, hint string) {
	if isLabel(name) {
		return "", ""
	}
	return "must be a DNS label: at most 63 lower-case letters, digits and hyphens, a letter or digit at both ends, not " +
		strict.Shown(name), approved(isLabel, tamed(name, false))
}

// dnsName is an RFC 1123 subdomain in lower case.
func dnsName(name string) (complaint, hint string) {
	if isSubdomain(name) {
		return "", ""
	}
	return "must be a DNS name: lower-case letters, digits, hyphens and dots, a letter or digit at both ends of each part, not " +
		strict.Shown(name), approved(isSubdomain, tamed(name, true))
}

// hostName is the name of an ESXi host: a DNS name, in any case, and with underscores, which vcsim's names have (DC0_C0_H0).
func hostName(name string) (complaint, hint string) {
	if isSubdomain(strings.ReplaceAll(strings.ToLower(name), "_", "x")) {
		return "", ""
	}
	return dnsName(name)
}

// nodeName is a DNS name that fits in a label: the kubelet sets kubernetes.io/hostname to it.
func nodeName(name string) (complaint, hint string) {
	if complaint, hint := dnsName(name); complaint != "" {
		return complaint, hint
	}
	if len(name) > 63 {
		return "must be at most 63 characters, as a node's kubernetes.io/hostname label is, not " + strict.Shown(name), ""
	}
	return "", ""
}

// tagName is valid as a vSphere tag and as the value of a Kubernetes label.
func tagName(name string) (complaint, hint string) {
	if isTag(name) {
		return "", ""
	}
	return "must fit a Kubernetes label: at most 63 letters, digits, hyphens, underscores and dots, a letter or digit at both ends, not " +
		strict.Shown(name), approved(isTag, strings.Trim(strings.ReplaceAll(name, " ", "-"), "-_."))
}

// inventoryName is a name that a vCenter shows unchanged: without slashes and percent signs, which it escapes.
func inventoryName(name string) (complaint, hint string) {
	switch {
	case len(name) > 80:
		return "must be at most 80 bytes long, not " + strict.Shown(name), ""
	case strings.TrimSpace(name) != name:
		return "must not begin or end with a space", strings.TrimSpace(name)
	case strings.ContainsAny(name, `/\%`):
		return `must not hold /, \ or %, which a vCenter escapes, as ` + strict.Shown(name) + " does", ""
	case strings.ContainsAny(name, "{}"):
		return "must not hold { or }, which are for numbering replicas ({n}), as " + strict.Shown(name) + " does", ""
	case strings.ContainsFunc(name, unicode.IsControl):
		return "must not hold control characters, as " + strict.Shown(name) + " does", ""
	}
	return "", ""
}

// freeName is valid for tags, categories, policies, roles and snapshots in vSphere: any text on one line.
func freeName(name string) (complaint, hint string) {
	switch {
	case len(name) > 256:
		return "must be at most 256 bytes long, not " + strict.Shown(name), ""
	case strings.TrimSpace(name) != name:
		return "must not begin or end with a space", strings.TrimSpace(name)
	case strings.ContainsFunc(name, unicode.IsControl):
		return "must not hold control characters, as " + strict.Shown(name) + " does", ""
	}
	return "", ""
}

// accountName is a user or group of an identity source: "cpi@vsphere.local".
func accountName(name string) (complaint, hint string) {
	if user, domain, ok := strings.Cut(name, "@"); ok && user != "" && isSubdomain(strings.ToLower(domain)) &&
		len(name) <= 255 && !strings.ContainsFunc(user, func(r rune) bool {
		return unicode.IsControl(r) || unicode.IsSpace(r) || strings.ContainsRune(`"/\[]:;|=,+*?<>@`, r)
	}) {
		return "", ""
	}
	return "must be a name with its domain, such as cpi@vsphere.local, not " + strict.Shown(name), ""
}

// anyName is for references, which are valid if their target exists.
func anyName(string) (complaint, hint string) { return "", "" }

// maxFolderPath limits the path of a folder.
const maxFolderPath = 512

// folderPath is inventory names joined by slashes.
func folderPath(name string) (complaint, hint string) {
	if len(name) > maxFolderPath {
		return "must be at most " + strconv.Itoa(maxFolderPath) + " bytes long, not " + strict.Shown(name), ""
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" {
			return "must be names joined by single slashes, such as \"americas/west\", not " + strict.Shown(name),
				belowRoot(strings.FieldsFunc(name, func(r rune) bool { return r == '/' }))
		}
		if complaint, _ := inventoryName(part); complaint != "" {
			return complaint, ""
		}
	}
	return "", ""
}

// belowRoot joins the parts of a folder path. An inventory path, as govc prints it, is shortened to the part below the datacenter's
// own folder: /dc/vm/k8s is the folder k8s.
func belowRoot(parts []string) string {
	if len(parts) > 2 && slices.Contains([]string{"vm", "host", "network", "datastore"}, parts[1]) {
		parts = parts[2:]
	}
	return strings.Join(parts, "/")
}

// guestID is an identifier of vSphere's VirtualMachineGuestOsIdentifier. The list grows with each release, so only the form is
// checked.
func guestID(name string) (complaint, hint string) {
	if len(name) <= 80 && only(name, func(b byte) bool { return alnum(b) || 'A' <= b && b <= 'Z' || b == '_' }) {
		return "", ""
	}
	return "must be a vSphere guest id such as ubuntu64Guest, not " + strict.Shown(name), ""
}

func isLabel(s string) bool {
	return s != "" && len(s) <= 63 && alnum(s[0]) && alnum(s[len(s)-1]) &&
		only(s, func(b byte) bool { return alnum(b) || b == '-' })
}

func isSubdomain(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if !isLabel(part) {
			return false
		}
	}
	return len(s) <= 253
}

func isTag(s string) bool {
	letter := func(b byte) bool { return alnum(b) || 'A' <= b && b <= 'Z' }
	return s != "" && len(s) <= 63 && letter(s[0]) && letter(s[len(s)-1]) &&
		only(s, func(b byte) bool { return letter(b) || b == '-' || b == '_' || b == '.' })
}

func alnum(b byte) bool { return 'a' <= b && b <= 'z' || '0' <= b && b <= '9' }

func only(s string, allowed func(byte) bool) bool {
	for i := range len(s) {
		if !allowed(s[i]) {
			return false
		}
	}
	return true
}

// tamed returns the most similar DNS name: lower case, with hyphens for invalid characters.
func tamed(name string, dots bool) string {
	mapped := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && alnum(byte(r)) || dots && r == '.' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	parts := strings.Split(mapped, ".")
	kept := parts[:0]
	for _, part := range parts {
		if part = strings.Trim(part, "-"); part != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, ".")
}

// approved returns the name if it is valid: a hint must not cause the next error.
func approved(valid func(string) bool, name string) string {
	if len(name) > 64 || !valid(name) {
		return ""
	}
	return name
}

// privilegeNames are the identifiers of the privileges of a vCenter, one on a line, as govmomi has them of one (the role
// Admin in simulator/esx, v0.56.0). The simulator knows no others.
//
//go:embed privileges.txt
var privilegeNames string

func knownPrivileges() map[string]bool {
	known := map[string]bool{}
	for name := range strings.Lines(privilegeNames) {
		known[strings.TrimSpace(name)] = true
	}
	return known
}

// Marks are the tags and permissions of an object of the inventory.
type Marks struct {
	// Tags are attached to the object, in addition to those of region and zone.
	Tags []Tag `json:"tags,omitempty"`
	// Permissions are granted on the object.
	Permissions []Permission `json:"permissions,omitempty"`
}

// Tag is a tag of one of the topology's categories. Naming a tag creates it.
type Tag struct {
	Category string `json:"category"`
	Name     string `json:"name"`
}

// TagCategory is a category of tags.
type TagCategory struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Cardinality is the number of its tags that one object may have. Default: single.
	Cardinality Cardinality `json:"cardinality,omitempty"`
	// Types are the types of object that may have its tags (Datacenter, HostSystem, VirtualMachine …). Empty means any.
	Types []string `json:"types,omitempty"`
}

// Cardinality is the number of tags of a category that one object may have.
type Cardinality string

// The cardinalities of vSphere.
const (
	CardinalitySingle   Cardinality = "single"
	CardinalityMultiple Cardinality = "multiple"
)

func (Cardinality) choices() []string {
	return []string{string(CardinalitySingle), string(CardinalityMultiple)}
}

// Permission grants a role to a user or group.
type Permission struct {
	// User is one of the vCenter's users or its administrator; Group, instead of it, one of their groups or
	// administrators@vsphere.local. Names are case-insensitive.
	User  string `json:"user,omitempty"`
	Group string `json:"group,omitempty"`
	// Role is a role of the vCenter or of vSphere: Admin, ReadOnly, View, NoAccess, NoCryptoAdmin, Anonymous, TrustedAdmin,
	// NoTrustedAdmin.
	Role string `json:"role"`
	// Propagate also grants it on everything below. Default: yes.
	Propagate Choice `json:"propagate,omitempty"`
}

// User is an account of a vCenter, in addition to the administrator.
type User struct {
	// Name includes the domain: "cpi@vsphere.local".
	Name string `json:"name"`
	// Password is generated if it is missing.
	Password string `json:"password,omitempty"`
	// Groups include their domains. Naming a group creates it.
	Groups []string `json:"groups,omitempty"`
}

// RoleDef is a role of a vCenter, in addition to those of vSphere.
type RoleDef struct {
	Name string `json:"name"`
	// Privileges are identifiers ("VirtualMachine.Interact.PowerOff"). Every role has System.Anonymous, System.View and
	// System.Read.
	Privileges []string `json:"privileges,omitempty"`
}

// Choice is yes, no, or unset (empty).
type Choice string

// The choices.
const (
	Yes Choice = "yes"
	No  Choice = "no"
)

func (Choice) choices() []string { return []string{string(Yes), string(No)} }

// scope is a set of unique names to which other fields refer.
type scope struct {
	*problems
	noun string // what the names identify: "host"
	seen map[string]*path
	// broken is set if a name is missing, so that references to it are not reported, too.
	broken bool
}

func newScope(p *problems, noun string) *scope {
	return &scope{problems: p, noun: noun, seen: map[string]*path{}}
}

// add adds the name of a field and reports a duplicate.
func (s *scope) add(name string, field *path) {
	if name == "" {
		s.broken = true
		return
	}
	first, taken := s.seen[name]
	if !taken {
		s.seen[name] = field
		return
	}
	if s.has(field) {
		return
	}
	s.field(field, "", "%s %s is already there, on line %s", s.noun, strict.Shown(name), s.line(field, first))
}

// once is add for a list of words, of which empty ones were reported.
func (s *scope) once(word string, field *path) {
	if first, taken := s.seen[word]; word != "" && taken {
		s.field(field, "", "%s is already there, on line %s", strict.Shown(word), s.line(field, first))
	}
	s.seen[word] = field
}

// enter adds a name that may exist already.
func (s *scope) enter(name string, field *path) {
	if name == "" {
		s.broken = true
	} else if _, there := s.seen[name]; !there {
		s.seen[name] = field
	}
}

// forgive accepts all references if the list of names could not be read.
func (s *scope) forgive(list *path) { s.broken = s.broken || s.has(list) }

// refer reports a field without a target in the scope.
func (s *scope) refer(name string, field *path, where string) bool {
	if _, ok := s.seen[name]; ok {
		return true
	}
	if !s.broken && !s.has(field) {
		hint := ""
		if s.Afford(len(s.seen)) {
			hint = nearest.Of(name, slices.Sorted(maps.Keys(s.seen)))
		}
		s.field(field, hint, "%s %s not found in %s", s.noun, strict.Shown(name), where)
	}
	return false
}

// referAll checks a list of unique references.
func (s *scope) referAll(names []string, list *path, where string) {
	twice := newScope(s.problems, s.noun)
	for i, name := range names {
		at := list.item(i)
		checkName(s.problems, at, name, anyName)
		twice.add(name, at)
		if name != "" {
			s.refer(name, at, where)
		}
	}
}
