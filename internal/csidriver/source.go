package csidriver

import (
	"regexp"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

// Kind is the kind of place that a driver comes from. Its text stands before the colon of a source.
type Kind string

// The kinds.
const (
	Image  Kind = "image"
	Module Kind = "module"
)

// Source is a place that a driver comes from. Make one with [Parse].
type Source struct {
	kind Kind
	ref  string
}

// Syntax is what [Parse] understands, for messages and helps.
const Syntax = "image:REF or module:VERSION"

// Parse reads "image:REF", the name of the driver's image with a tag, or "module:VERSION", a release of upstream's module.
// Errors are of type [coded.Error].
func Parse(text string) (Source, error) {
	kind, ref, _ := strings.Cut(text, ":")
	ref = strings.TrimPrefix(ref, "//") // image://REF
	s := Source{Kind(kind), ref}
	switch {
	case s.kind == Module && regexp.MustCompile(`^`+version+`$`).MatchString(ref):
		return s, nil
	case s.kind == Module:
		return s, coded.New(Usage, "--csi module:v3.7.0", nil, "CSI driver %q: want a version of upstream's module, of the form v3.7.0", text)
	case s.kind == Image && regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.:/_-]*/[a-z0-9/._-]+:\w[\w.-]*$`).MatchString(ref):
		return s, nil
	case s.kind == Image:
		return s, coded.New(Usage, "--csi image:registry.k8s.io/csi-vsphere/driver:v3.7.0", nil, "CSI driver %q: want an image with registry and tag", text)
	}
	return s, coded.New(Usage, "--csi module:v3.7.0", nil, "CSI driver %q: want %s", text, Syntax)
}

// version is a release: it becomes a part of paths.
const version = `v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?`

// Kind tells what kind of place it is.
func (s Source) Kind() Kind { return s.kind }

// Ref is the image's name, or the module's version.
func (s Source) Ref() string { return s.ref }

// Version is the release, "" where an image's tag does not say it.
func (s Source) Version() string {
	return regexp.MustCompile(version + `$`).FindString(s.ref)
}

// String returns the text that [Parse] reads.
func (s Source) String() string { return string(s.kind) + ":" + s.ref }
