package program

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
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

// Source is a place that a program comes from. Make one with [Product.Parse]. Values are comparable; the zero value is the
// built-in program.
type Source struct {
	product Product
	kind    Kind
	ref     string
}

// Syntax is what [Product.Parse] understands, for messages and helps.
const Syntax = "builtin, PATH, image:REF, archive:FILE or module:VERSION"

// Parse reads a source of the product: "builtin" (or nothing), "image:REF", "archive:FILE", "module:VERSION", or the path of a program.
// It does not look at files. A file with a colon in its name needs a slash: ./image:x.
func (p Product) Parse(text string) (Source, error) {
	s, err := p.parse(text)
	return s, p.named(err)
}

func (p Product) parse(text string) (Source, error) {
	kind, ref, colon := strings.Cut(text, ":")
	switch {
	case text == "", text == string(Builtin):
		return Source{}, nil
	case !colon, strings.ContainsRune(kind, filepath.Separator):
		return Source{p, File, text}, nil
	case kind == string(File): // as the others are written
		kind, text = string(File), ref
	case kind != string(Image) && kind != string(Archive) && kind != string(Module):
		return Source{}, &coded.Error{
			Code: Usage, Message: fmt.Sprintf("%q: there is no source %q; want %s", text, kind+":", Syntax),
			Try: "./" + text + " for a file of that name",
		}
	}
	ref = strings.TrimPrefix(ref, "//") // image://REF
	if ref == "" {
		return Source{}, &coded.Error{Code: Usage, Message: fmt.Sprintf("%q: nothing stands after the colon", text), Try: "image:REF, archive:FILE, module:VERSION, or the path of a program"}
	}
	s := Source{p, Kind(kind), ref}
	switch s.kind {
	case Image:
		_, err := reference(ref)
		return s, err
	case Module:
		return s, p.checkVersion(ref)
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

// Ref returns what stands after the colon: a path, an image's name or a version; "" for the built-in program.
func (s Source) Ref() string { return s.ref }

// String returns the text that [Product.Parse] reads.
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

// Program is a program that can be run on this machine.
type Program struct {
	// Path is where it is; "" is the built-in one.
	Path string `json:"path,omitempty"`
	// Source is where it comes from, as [Product.Parse] reads it.
	Source string `json:"source"`
	// Version is what the source says of it: a module's version, an image's label or tag, the version that a Go program
	// was built as; "" when nothing does.
	Version string `json:"version,omitempty"`
	// Digest identifies it: that of an image's manifest (of an archive's configuration, which Docker calls the image's
	// ID), else that of the file; "sha256:…". "" for the built-in one.
	Digest string `json:"digest,omitempty"`
	// Own: it is this project's, which knows flags that others do not, and needs fewer rights.
	Own bool `json:"own,omitempty"`
}

// Options say how to find a program. The zero value is useful.
type Options struct {
	// Cache is the folder in which things are kept. Default: vsphere-sandbox in the user's cache folder.
	Cache string
	// Progress is called with what is being done, at least every five seconds. It must not block. Optional.
	Progress func(string)
	// Go is the Go toolchain's command. Default: "go", looked for in $PATH.
	Go string
	// Most bounds an image: the bytes of all its layers, unpacked. Default: 2 GiB.
	Most    int64
	product Product

	// OS and Arch are what the program has to be for. Default: this machine's.
	OS, Arch string
}

// of returns the options for a product.
func (o Options) of(p Product) (Options, error) {
	o.product = p
	return o.withDefaults()
}

func (o Options) withDefaults() (Options, error) {
	if o.Cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return o, err
		}
		o.Cache = filepath.Join(dir, "vsphere-sandbox")
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	o.Go = cmp.Or(o.Go, "go")
	if o.Most <= 0 {
		o.Most = 2 << 30
	}
	o.OS = cmp.Or(o.OS, runtime.GOOS)
	o.Arch = cmp.Or(o.Arch, runtime.GOARCH)
	return o, nil
}

// Find checks that there is what the source names, without downloading, building or running anything: a caller with several
// sources finds all of them before it resolves one. Errors are as those of [Source.Resolve], which may still find other faults.
func (s Source) Find(ctx context.Context, o Options) error {
	if s.Kind() == Builtin {
		return nil
	}
	o, err := o.of(s.product)
	if err != nil {
		return err
	}
	switch s.Kind() {
	case Builtin: // is above
	case File:
		_, err = o.file(s.ref)
	case Archive:
		_, err = os.Stat(s.ref)
	case Image:
		err = o.findImage(ctx, s.ref)
	case Module:
		err = o.find(ctx, s.ref)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return s.product.named(err)
}

// Resolve makes sure that there is a program, and returns it: it downloads or builds what is not there yet, which may
// take minutes. Errors that are about the source are of type [coded.Error]. Two processes may resolve one source at once.
func (s Source) Resolve(ctx context.Context, o Options) (Program, error) {
	if s.Kind() == Builtin { // for which there need not be a cache folder, nor a home to have one in
		return Program{Source: s.String(), Own: true}, nil
	}
	o, err := o.of(s.product)
	if err != nil {
		return Program{}, err
	}
	var p Program
	switch s.Kind() {
	case Builtin: // is above
	case File:
		p, err = o.file(s.ref)
	case Image:
		p, err = o.image(ctx, s.ref)
	case Archive:
		p, err = o.archive(ctx, s.ref)
	case Module:
		p, err = o.module(ctx, s.ref)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return Program{}, s.product.named(err)
	}
	p.Source = s.String()
	return p, nil
}
