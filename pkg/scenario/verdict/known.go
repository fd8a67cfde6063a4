package verdict

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/expect"
)

// Program is what is judged: a cloud controller manager, or a CSI driver.
type Program struct {
	// Source is the origin, as in --ccm and --csi: "builtin", "module:v1.36.0".
	Source string `json:"source"`
	// Version is the version of the source, or "" if unknown.
	Version string `json:"version,omitempty"`
	// Own means that it is this project's.
	Own bool `json:"own,omitempty"`
	// Kubernetes is the release of the clusters that it runs on, or "" if all of a run have the same.
	Kubernetes string `json:"kubernetes,omitempty"`
	// Driver means that it is a CSI driver.
	Driver bool `json:"-"`
}

// String returns its source, with the version if the source does not name it, and the release that it runs on.
func (p Program) String() string {
	text := p.Source
	if p.Version != "" && !strings.Contains(p.Source, p.Version) {
		text += " (" + p.Version + ")"
	}
	if p.Kubernetes != "" {
		text += " on " + p.Kubernetes
	}
	return text
}

// Known are programs that are known to fail a check: cloud controller managers, or CSI drivers.
type Known struct {
	// CCM is a pattern for a source (module:v1.36.*, ./mine), or a range of upstream's versions: ">=v1.34.0", "module:>=v1.34.0
	// <v1.38.0". All parts of a range must hold, in the order of semantic versions.
	CCM string `json:"ccm,omitempty"`
	// CSI is the same for CSI drivers. One of both is set.
	CSI string `json:"csi,omitempty"`
	// Why is the defect, Issue a report of it ("cloud-provider-vsphere#642"), or "".
	Why   string `json:"why"`
	Issue string `json:"issue,omitempty"`
	// Sometimes is a part of the message of the failure, for a defect that does not show each time: of two programs that it is
	// about, one may pass by chance.
	Sometimes string `json:"sometimes,omitempty"`
}

// Check returns an error for a range that cannot be read.
func (k Known) Check() error {
	_, _, err := k.versions()
	return err
}

// pattern is the one that is set.
func (k Known) pattern() string { return cmp.Or(k.CCM, k.CSI) }

// Matches reports whether it is about a program: by its source or, for a program of upstream from elsewhere, by
// its version.
func (k Known) Matches(p Program) bool {
	limits, isRange, err := k.versions()
	switch {
	case err != nil, p.Driver != (k.CSI != ""):
		return false
	case !isRange:
		return expect.Match(k.pattern(), p.Source) || p.upstream() && expect.Match(k.pattern(), modulePrefix+p.Version)
	case !p.upstream():
		return false
	}
	v, err := version.ParseSemantic(p.Version)
	if err != nil {
		return false
	}
	for _, l := range limits {
		if !l.holds(v) {
			return false
		}
	}
	return true
}

// Find returns the first that is about a program, or nil.
func Find(list []Known, p Program) *Known {
	for i := range list {
		if list[i].Matches(p) {
			return &list[i]
		}
	}
	return nil
}

// modulePrefix begins the source of an upstream release.
const modulePrefix = "module:"

// upstream reports whether its version is one of upstream's.
func (p Program) upstream() bool {
	major := "v1."
	if p.Driver {
		major = "v3."
	}
	return !p.Own && strings.HasPrefix(p.Version, major)
}

// limit is one part of a range.
type limit struct {
	operator string
	version  *version.Version
}

func (l limit) holds(v *version.Version) bool {
	switch l.operator {
	case ">=":
		return v.AtLeast(l.version)
	case ">":
		return l.version.LessThan(v)
	case "<=":
		return !l.version.LessThan(v)
	}
	return v.LessThan(l.version)
}

var limitPattern = regexp.MustCompile(`^(>=|<=|>|<)(v[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]*)$`)

// versions parses a range; isRange is false for a pattern.
func (k Known) versions() (limits []limit, isRange bool, err error) {
	text := strings.TrimSpace(strings.TrimPrefix(k.pattern(), modulePrefix))
	if !strings.HasPrefix(text, "<") && !strings.HasPrefix(text, ">") {
		return nil, false, nil
	}
	for part := range strings.FieldsSeq(strings.ReplaceAll(text, ",", " ")) {
		m := limitPattern.FindStringSubmatch(part)
		if m == nil {
			return nil, true, fmt.Errorf("%q is no range of versions; want parts such as >=v1.34.0 or <v1.38.0", k.pattern())
		}
		v, err := version.ParseSemantic(m[2])
		if err != nil {
			return nil, true, fmt.Errorf("%q is no range of versions: %w", k.pattern(), err)
		}
		limits = append(limits, limit{m[1], v})
	}
	return limits, true, nil
}
