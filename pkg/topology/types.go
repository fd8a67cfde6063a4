package topology

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// APIVersion and Kind identify the format of [Load].
const (
	APIVersion = "sandbox.vsphere/v1alpha1"
	Kind       = "Topology"
)

// Topology is the desired inventory of a sandbox. [Load] returns it resolved: files included, parameters replaced, replica groups
// expanded, defaults and identities derived, references checked. A resolved Topology is never changed, so it may be read
// concurrently.
type Topology struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	Spec       Spec     `json:"spec"`
}

// Metadata identifies a topology.
type Metadata struct {
	// Name is a DNS label: lower-case letters, digits and hyphens.
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// Spec is the inventory.
type Spec struct {
	// Seed changes the derived identities. Default: the topology's name.
	Seed string `json:"seed,omitempty"`
	// Categories are the tag categories of the region: and zone: shorthands.
	Categories Categories `json:"categories,omitzero"`
	// TagCategories are further categories, in every vCenter. They may include the two of Categories, to set more than their
	// names.
	TagCategories []TagCategory `json:"tagCategories,omitempty"`
	// AllowDuplicate lists the identities that may occur twice.
	AllowDuplicate []Duplicate `json:"allowDuplicate,omitempty"`
	// Stock lists the behaviors that stay as in vcsim.
	Stock stock.Set `json:"stock,omitempty"`
	// Nodes is the default kind of nodes. Default: hollow.
	Nodes NodeKind `json:"nodes,omitempty"`
	// Kubernetes configures an embedded Kubernetes cluster, and but for the version one of kind. Other clusters do not use it.
	Kubernetes Kubernetes `json:"kubernetes,omitzero"`
	// NSX is an NSX Manager, for load balancers and routes. Default: none.
	NSX *NSX `json:"nsx,omitempty"`
	// Supervisor makes the cluster a guest cluster of a Supervisor. Default: none.
	Supervisor *Supervisor `json:"supervisor,omitempty"`
	// VCenters holds at least one.
	VCenters []VCenter `json:"vcenters"`
}

// Kubernetes is the release of an embedded Kubernetes cluster, and what is different from its defaults. Flags of the program count
// more. Only flags can set arguments and files of components: those can read, write and start anything, and a topology may be
// untrusted.
type Kubernetes struct {
	// Version is a release: v1.36. Default: the newest.
	Version string `json:"version,omitempty"`
	// FeatureGates are those of all components, kubelets too.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	// RuntimeConfig enables and disables APIs: GROUP/VERSION, or api/all.
	RuntimeConfig map[string]bool `json:"runtimeConfig,omitempty"`
}

// IsZero reports whether nothing is configured.
func (k Kubernetes) IsZero() bool {
	return k.Version == "" && len(k.FeatureGates) == 0 && len(k.RuntimeConfig) == 0
}

// Categories are names of tag categories. Defaults: k8s-region and k8s-zone.
type Categories struct {
	Region string `json:"region,omitempty"`
	Zone   string `json:"zone,omitempty"`
}

// Place has the shorthands for any ancestor of a VM: the object gets a tag with that name in the region or zone category. Both
// must be valid values of Kubernetes labels.
type Place struct {
	Region string `json:"region,omitempty"`
	Zone   string `json:"zone,omitempty"`
}

// Duplicate is an identity that vSphere, or a mistake of an administrator, can duplicate. A duplicate in a topology is an error
// unless AllowDuplicate has it.
type Duplicate string

// The identities that may occur twice.
const (
	DuplicateName         Duplicate = "name"     // VM names in one folder
	DuplicateHostname     Duplicate = "hostname" // DNS names that guests of nodes report; see [Topology.Nodes]
	DuplicateUUID         Duplicate = "uuid"     // BIOS UUIDs
	DuplicateInstanceUUID Duplicate = "instanceUUID"
	DuplicateAddress      Duplicate = "address"
	DuplicateMAC          Duplicate = "mac"
)

// AllowsDuplicate reports whether an identity may occur twice.
func (s *Spec) AllowsDuplicate(d Duplicate) bool { return slices.Contains(s.AllowDuplicate, d) }

func (Duplicate) choices() []string {
	return []string{
		string(DuplicateName), string(DuplicateHostname), string(DuplicateUUID), string(DuplicateInstanceUUID),
		string(DuplicateAddress), string(DuplicateMAC),
	}
}

// Bytes is a number of bytes. As text it is a Kubernetes quantity: digits with an optional fraction and one of the suffixes Ki Mi
// Gi Ti Pi Ei (powers of 1024), k M G T P E (powers of 1000), or an exponent (2e9).
type Bytes int64

// The binary units.
const (
	Ki Bytes = 1 << (10 * (iota + 1))
	Mi
	Gi
	Ti
)

var errQuantity = errors.New(`must be a size such as "4Gi"`)

// binarySuffixes and decimalSuffixes are indexed by the power of 1024 or 1000.
const (
	binarySuffixes  = "KMGTPE"
	decimalSuffixes = "kMGTPE"
)

// ParseBytes parses a quantity. A fractional or too large number of bytes is an error.
func ParseBytes(s string) (Bytes, error) {
	digits := strings.TrimLeft(s, "+-")
	end := strings.IndexFunc(digits, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		end = len(digits)
	}
	number, suffix := digits[:end], digits[end:]
	if len(s)-len(digits) > 1 || len(number) > 40 || strings.Trim(number, ".") == "" || strings.Count(number, ".") > 1 {
		return 0, errQuantity
	}
	value, ok := new(big.Rat).SetString(s[:len(s)-len(suffix)])
	if !ok {
		return 0, errQuantity
	}
	factor, ok := scale(suffix)
	if !ok {
		return 0, errQuantity
	}
	value.Mul(value, factor)
	switch {
	case !value.IsInt():
		return 0, errors.New("must be a whole number of bytes")
	case !value.Num().IsInt64():
		return 0, errors.New("is too large")
	}
	return Bytes(value.Num().Int64()), nil
}

// sizeText is a size with any suffix that people write: 8G, 8GB, 8 GiB, 8gb.
var sizeText = regexp.MustCompile(`^\s*(\d+)\s*([kKmMgGtTpP])[iI]?[bB]?\s*$`)

// binarySize returns the size in binary units that a text most probably means, or "": "8Gi" for 8G and 8GB.
func binarySize(text string) string {
	m := sizeText.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1] + strings.ToUpper(m[2]) + "i"
}

// scale returns the factor of a quantity's suffix.
func scale(suffix string) (*big.Rat, bool) {
	power := func(base, exponent int64) *big.Rat {
		return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(base), big.NewInt(exponent), nil))
	}
	switch {
	case suffix == "":
		return power(1, 0), true
	case len(suffix) == 1 && strings.Contains(decimalSuffixes, suffix):
		return power(1000, int64(strings.Index(decimalSuffixes, suffix)+1)), true
	case len(suffix) == 2 && suffix[1] == 'i' && strings.IndexByte(binarySuffixes, suffix[0]) >= 0:
		return power(1024, int64(strings.IndexByte(binarySuffixes, suffix[0])+1)), true
	case suffix[0] == 'e' || suffix[0] == 'E':
		exponent, err := strconv.ParseInt(suffix[1:], 10, 8)
		if err != nil || exponent < -18 || exponent > 18 {
			return nil, false
		}
		if exponent < 0 {
			return new(big.Rat).Inv(power(10, -exponent)), true
		}
		return power(10, exponent), true
	}
	return nil, false
}

// String returns the canonical form: the largest binary suffix with a whole number.
func (b Bytes) String() string {
	suffix := -1
	for b != 0 && b%1024 == 0 && suffix+1 < len(binarySuffixes) {
		b /= 1024
		suffix++
	}
	number := strconv.FormatInt(int64(b), 10)
	if suffix < 0 {
		return number
	}
	return number + binarySuffixes[suffix:suffix+1] + "i"
}

// MarshalText writes the canonical form.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText parses text like [ParseBytes].
func (b *Bytes) UnmarshalText(text []byte) error {
	value, err := ParseBytes(string(text))
	if err != nil {
		return err
	}
	*b = value
	return nil
}

// MiB returns the size in whole mebibytes, rounded down, as vSphere counts memory, and at most the largest int32.
func (b Bytes) MiB() int32 { return int32(min(b/Mi, math.MaxInt32)) }

// maxPattern limits texts with {n} in lists: longer ones are not replaced, and fail the later checks.
const maxPattern = 256

// text returns a replica's text, with its number in place of {n}.
func (g replicas) text(key, pattern string, n int) string {
	if !strings.Contains(pattern, "{n") {
		return pattern
	}
	return g.textAt(g.at.key(key), pattern, n)
}

func (g replicas) textAt(at *path, pattern string, n int) string {
	text, replaced := number(pattern, n)
	if replaced && n == 0 && !g.has(g.at.key("replicas")) {
		g.field(at, "", "has {n}, which numbers replicas, but there is no replicas: beside it")
	}
	return text
}

func isPattern(s string) bool { return len(s) <= maxPattern && strings.Contains(s, "{n") }

// tags numbers the names of tags. Without {n}, all replicas share the list.
func (g replicas) tags(tags []Tag, n int) []Tag {
	if !slices.ContainsFunc(tags, func(t Tag) bool { return isPattern(t.Name) }) {
		return tags
	}
	tags = slices.Clone(tags)
	for i := range tags {
		if isPattern(tags[i].Name) {
			tags[i].Name = g.textAt(g.at.key("tags").item(i).key("name"), tags[i].Name, n)
		}
	}
	return tags
}

// nics returns a replica's NICs, with separate identities.
func (g replicas) nics(nics []NIC, n int) []NIC {
	nics = slices.Clone(nics)
	for i := range nics {
		nic := &nics[i]
		nic.Addresses = slices.Clone(nic.Addresses)
		if isPattern(nic.Network) {
			nic.Network = g.textAt(g.at.key("nics").item(i).key("network"), nic.Network, n)
		}
		for j, address := range nic.Addresses {
			if isPattern(address) {
				nic.Addresses[j] = g.textAt(g.at.key("nics").item(i).key("addresses").item(j), address, n)
			}
		}
	}
	return nics
}

// number replaces {n}, {nn}, {nnn} … in pattern by n, zero-padded to as many digits.
func number(pattern string, n int) (text string, replaced bool) {
	if !strings.Contains(pattern, "{n") {
		return pattern, false
	}
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(pattern, "{n")
		b.WriteString(before)
		if !ok {
			return b.String(), replaced
		}
		digits := len(after) - len(strings.TrimLeft(after, "n")) + 1
		if rest, closed := strings.CutPrefix(after[digits-1:], "}"); closed && digits <= 9 {
			fmt.Fprintf(&b, "%0*d", digits, n)
			replaced, pattern = true, rest
			continue
		}
		b.WriteString("{n")
		pattern = after
	}
}

// bounded reports and drops NICs and addresses beyond the limits, before they are multiplied.
func (g replicas) bounded(nics []NIC) []NIC {
	at := g.at.key("nics")
	nics = few(g.problems, nics, maxNICs, at, "a VM")
	for i, nic := range nics {
		if len(nic.Addresses) > maxAddresses {
			few(g.problems, nic.Addresses, maxAddresses, at.item(i).key("addresses"), "a NIC")
			return nil
		}
	}
	return nics
}

func (g replicas) boundedMarks(m Marks) Marks {
	m.Tags = few(g.problems, m.Tags, maxTags, g.at.key("tags"), "an object")
	m.Permissions = few(g.problems, m.Permissions, maxPermissions, g.at.key("permissions"), "an object")
	return m
}

// few reports and drops a list that is too long.
func few[T any](p *problems, list []T, most int, at *path, whose string) []T {
	if len(list) <= most {
		return list
	}
	p.field(at, "", "are %d, more than the %d %s can have", len(list), most, whose)
	return nil
}

// Counts holds numbers of objects.
type Counts struct {
	VCenters    int `json:"vcenters"`
	Datacenters int `json:"datacenters"`
	Clusters    int `json:"clusters"`
	Hosts       int `json:"hosts"`
	VMs         int `json:"vms"`
	Nodes       int `json:"nodes"`
}

// Count counts a resolved topology.
func (t *Topology) Count() Counts {
	c := Counts{VCenters: len(t.Spec.VCenters), Nodes: len(t.Nodes())}
	for _, vcenter := range t.Spec.VCenters {
		c.Datacenters += len(vcenter.Datacenters)
		for _, dc := range vcenter.Datacenters {
			c.Clusters += len(dc.Clusters)
			c.VMs += len(dc.VMs)
			for range dc.AllHosts() {
				c.Hosts++
			}
		}
	}
	return c
}

// String returns a summary: "2 vCenters, 3 datacenters, 6 VMs, 6 nodes".
func (c Counts) String() string { return c.Inventory() + ", " + shorten.Count(c.Nodes, "node") }

// Inventory returns a summary without nodes: "2 vCenters, 3 datacenters, 6 VMs".
func (c Counts) Inventory() string {
	return strings.Join([]string{shorten.Count(c.VCenters, "vCenter"), shorten.Count(c.Datacenters, "datacenter"), shorten.Count(c.VMs, "VM")}, ", ")
}
