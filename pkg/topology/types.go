package topology

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology/stock"
)

// APIVersion and Kind name the format that [Load] reads.
const (
	APIVersion = "sandbox.vsphere/v1alpha1"
	Kind       = "Topology"
)

// Topology is the desired inventory of a sandbox. [Load] returns it resolved: files included, parameters filled in,
// replica groups expanded, defaults and identities derived, references checked. A resolved Topology is never changed, so
// it may be read concurrently.
type Topology struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	Spec       Spec     `json:"spec"`
}

// Metadata names a topology.
type Metadata struct {
	// Name is a DNS label: lower-case letters, digits and hyphens.
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// Spec is what there is.
type Spec struct {
	// Seed makes the identities of two sandboxes with the same file differ. Default: the topology's name.
	Seed string `json:"seed,omitempty"`
	// Categories are the tag categories that region: and zone: shorthands become tags of.
	Categories Categories `json:"categories,omitzero"`
	// TagCategories are further categories, in every vCenter. The two of Categories may be among them, to say more of
	// them than their names.
	TagCategories []TagCategory `json:"tagCategories,omitempty"`
	// AllowDuplicate is what may be there twice, on purpose.
	AllowDuplicate []Duplicate `json:"allowDuplicate,omitempty"`
	// Stock is what is left as vcsim has it.
	Stock stock.Set `json:"stock,omitempty"`
	// Nodes is what the nodes among the VMs are made of where they do not say so themselves. Default: hollow.
	Nodes NodeKind `json:"nodes,omitempty"`
	// VCenters holds at least one.
	VCenters []VCenter `json:"vcenters"`
}

// Categories are names of tag categories. Defaults: k8s-region and k8s-zone.
type Categories struct {
	Region string `json:"region,omitempty"`
	Zone   string `json:"zone,omitempty"`
}

// Place carries the shorthands that any ancestor of a VM may have: the object gets a tag of that name in the region or
// zone category. Both end up as values of Kubernetes labels, so they must be fit for one.
type Place struct {
	Region string `json:"region,omitempty"`
	Zone   string `json:"zone,omitempty"`
}

// Duplicate is something of which vSphere, or a careless administrator, can make two. Two of them in one topology are an
// error unless its AllowDuplicate says so.
type Duplicate string

// The things that may be there twice.
const (
	DuplicateName         Duplicate = "name"     // VM names in one folder
	DuplicateHostname     Duplicate = "hostname" // guests of nodes that report one DNS name; see [Topology.Nodes]
	DuplicateUUID         Duplicate = "uuid"     // BIOS UUIDs
	DuplicateInstanceUUID Duplicate = "instanceUUID"
	DuplicateAddress      Duplicate = "address"
	DuplicateMAC          Duplicate = "mac"
)

// Allows reports whether that may be there twice.
func (s *Spec) Allows(d Duplicate) bool { return slices.Contains(s.AllowDuplicate, d) }

func (Duplicate) choices() []string {
	return []string{
		string(DuplicateName), string(DuplicateHostname), string(DuplicateUUID), string(DuplicateInstanceUUID),
		string(DuplicateAddress), string(DuplicateMAC),
	}
}

// Bytes is a number of bytes. In text it is a Kubernetes quantity: digits with an optional fraction and one of the
// suffixes Ki Mi Gi Ti Pi Ei (powers of 1024), k M G T P E (powers of 1000), or an exponent (2e9).
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

// ParseBytes reads a quantity. Sizes that are no whole number of bytes or do not fit are errors.
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

// scale is what a quantity's suffix multiplies by.
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

// String is the canonical form: the largest binary suffix that leaves a whole number.
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

// UnmarshalText reads what [ParseBytes] reads.
func (b *Bytes) UnmarshalText(text []byte) error {
	value, err := ParseBytes(string(text))
	if err != nil {
		return err
	}
	*b = value
	return nil
}

// MiB is the size in whole mebibytes, rounded down, as vSphere counts memory. It saturates at the largest int32, which
// no VM reaches.
func (b Bytes) MiB() int32 { return int32(min(b/Mi, math.MaxInt32)) }

// maxPattern bounds what is numbered in lists: longer than any tag, network or address may be, and so for the checks to
// refuse as it stands.
const maxPattern = 256

// text is a replica's text: numbered in place of {n}, if it has one.
func (g replicas) text(key, pattern string, n int) string {
	if !strings.Contains(pattern, "{n") {
		return pattern
	}
	return g.textAt(g.at.key(key), pattern, n)
}

func (g replicas) textAt(at *path, pattern string, n int) string {
	text, replaced := number(pattern, n)
	if replaced && n == 0 {
		g.field(at, "", "has {n}, which numbers replicas, but there is no replicas: beside it")
	}
	return text
}

func isPattern(s string) bool { return len(s) <= maxPattern && strings.Contains(s, "{n") }

// tags numbers the names of tags. Without {n} in any, all replicas share the list.
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

// nics gives each replica its own NICs, as their identities differ.
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

// bounded reports NICs and addresses that are too many, before they are multiplied, and drops them.
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

// few reports a list that is too long and drops it.
func few[T any](p *problems, list []T, most int, at *path, whose string) []T {
	if len(list) <= most {
		return list
	}
	p.field(at, "", "are %d, more than the %d %s can have", len(list), most, whose)
	return nil
}
