package ccm

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

// Kind is the kind of place that a program comes from.
type Kind string

// The kinds. All but File are what stands before the colon of a source.
const (
	Builtin Kind = "builtin"
	File    Kind = "file"
	Image   Kind = "image"
	Archive Kind = "archive"
	Module  Kind = "module"
)

// Source is a place that a program comes from. Values are comparable; the zero value is the built-in program.
type Source struct {
	kind Kind
	ref  string
}

// Syntax is what [Parse] understands, for messages and helps.
const Syntax = "builtin, PATH, image:REF, archive:FILE or module:VERSION"

// Parse reads a source: "builtin" (or nothing), "image:REF", "archive:FILE", "module:VERSION", or the path of a program.
// It does not look at files. A file with a colon in its name needs a slash: ./image:x.
func Parse(text string) (Source, error) {
	kind, ref, colon := strings.Cut(text, ":")
	switch {
	case text == "", text == string(Builtin):
		return Source{}, nil
	case !colon, strings.ContainsRune(kind, filepath.Separator):
		return Source{File, text}, nil
	case kind == string(File): // as the others are written
		kind, text = string(File), ref
	case kind != string(Image) && kind != string(Archive) && kind != string(Module):
		return Source{}, &coded.Error{
			Code: "usage", Message: fmt.Sprintf("CCM %q: there is no source %q; want %s", text, kind+":", Syntax),
			Try: "./" + text + " for a file of that name",
		}
	}
	ref = strings.TrimPrefix(ref, "//") // image://REF
	if ref == "" {
		return Source{}, &coded.Error{Code: "usage", Message: fmt.Sprintf("CCM %q: nothing stands after the colon", text), Try: "image:REF, archive:FILE, module:VERSION, or the path of a program"}
	}
	s := Source{Kind(kind), ref}
	switch s.kind {
	case Image:
		_, err := reference(ref)
		return s, err
	case Module:
		return s, checkVersion(ref)
	case Archive, File, Builtin:
	}
	return s, nil
}

// Kind returns the kind of the source.
func (s Source) Kind() Kind {
	if s.kind == "" {
		return Builtin
	}
	return s.kind
}

// String returns the text that [Parse] reads.
func (s Source) String() string {
	switch s.Kind() {
	case Builtin:
		return string(Builtin)
	case File:
		return s.ref
	case Image, Archive, Module:
	}
	return string(s.kind) + ":" + s.ref
}

// In is the source as it is meant in a file of a folder: a path that is relative is relative to that folder.
func (s Source) In(dir string) Source {
	if (s.kind == File || s.kind == Archive) && !filepath.IsAbs(s.ref) {
		s.ref = filepath.Join(dir, s.ref)
	}
	return s
}
