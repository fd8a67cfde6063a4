package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// sbom writes the bill of materials of a program, of what the linker has recorded in it and in the program that it carries.
func sbom(_ context.Context, args []string, stdout io.Writer) error {
	var in, binary, carried, version, out string
	set := flag.NewFlagSet("sbom", flag.ContinueOnError)
	set.StringVar(&in, "in", ".", "the `folder` that the paths of -binary and -out begin in")
	set.StringVar(&binary, "binary", "", "the program's `file`")
	set.StringVar(&carried, "carried", "", "the `file`, in gzip, of the program that is carried inside")
	set.StringVar(&version, "version", "", "the program's `release`")
	set.StringVar(&out, "out", "", "the document's `file`")
	if err := set.Parse(args); err != nil {
		return err
	}
	if binary == "" || out == "" || version == "" || set.NArg() > 0 {
		return errors.New("sbom: -binary, -version and -out are needed, and nothing else")
	}
	binary, out = filepath.Join(in, binary), filepath.Join(in, out)
	own, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	programs := []program{{filepath.Base(binary), own}}
	if carried != "" {
		second, err := readCarried(carried)
		if err != nil {
			return fmt.Errorf("%s: %w", carried, err)
		}
		programs = append(programs, program{"csi-sidecars", second})
	}
	sum, err := sha256Of(binary)
	if err != nil {
		return err
	}
	text, err := document(programs, version, sum)
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, text, 0o644); err != nil {
		return err
	}
	fmt.Fprintln(stdout, out)
	return nil
}

// program is one with what is recorded in it.
type program struct {
	name string
	info *debug.BuildInfo
}

func readCarried(file string) (*debug.BuildInfo, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	return buildinfo.Read(bytes.NewReader(data))
}

// document is the document: a component for each module, the Go release among them, and for each program of which it is made.
// The same programs make the same document: there is no time and no serial number in it.
func document(programs []program, version, sum string) ([]byte, error) {
	main := programs[0].info.Main.Path
	components, dependencies := map[string]cdx.Component{}, []cdx.Dependency{}
	var carried []string
	for i, p := range programs {
		needs := map[string]bool{}
		golang := cdx.Component{Type: cdx.ComponentTypeLibrary, Name: "std", Version: p.info.GoVersion, PackageURL: "pkg:golang/std@" + strings.TrimPrefix(p.info.GoVersion, "go")}
		for _, c := range append([]cdx.Component{golang}, modulesOf(p.info)...) {
			c.BOMRef = c.PackageURL
			components[c.BOMRef], needs[c.BOMRef] = c, true
		}
		if i > 0 {
			components[p.name] = cdx.Component{BOMRef: p.name, Type: cdx.ComponentTypeApplication, Name: p.name, Version: version}
			carried = append(carried, p.name)
		}
		list := slices.Sorted(maps.Keys(needs))
		dependencies = append(dependencies, cdx.Dependency{Ref: p.name, Dependencies: &list})
	}
	*dependencies[0].Dependencies = append(*dependencies[0].Dependencies, carried...)
	list := make([]cdx.Component, 0, len(components))
	for _, ref := range slices.Sorted(maps.Keys(components)) {
		list = append(list, components[ref])
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &cdx.Component{
		BOMRef: programs[0].name, Type: cdx.ComponentTypeApplication, Name: programs[0].name, Version: version,
		PackageURL: "pkg:golang/" + main + "@" + version, Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}},
		Licenses: &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
	}}
	bom.Components, bom.Dependencies = &list, &dependencies
	var b bytes.Buffer
	err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).Encode(bom)
	return b.Bytes(), err
}

// modulesOf are those that are linked: of a module that go.mod replaces, what stands in its place.
func modulesOf(info *debug.BuildInfo) []cdx.Component {
	var list []cdx.Component
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := cdx.Component{Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: "pkg:golang/" + m.Path + "@" + m.Version}
		if sum, ok := strings.CutPrefix(m.Sum, "h1:"); ok {
			// Go's own hash, of a module's files and their names: CycloneDX has no name for that algorithm.
			c.Properties = &[]cdx.Property{{Name: "golang:h1", Value: sum}}
		}
		list = append(list, c)
	}
	return list
}
