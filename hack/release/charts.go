package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"go.yaml.in/yaml/v3"
)

// charts packages every Helm chart of the repository as NAME-VERSION.tgz, with the release as its own version and as that of
// the programs that it installs, whose images are those that the release has pushed. The same charts make the same files.
func charts(ctx context.Context, args []string, stdout io.Writer) error {
	var root, out, version string
	set := flag.NewFlagSet("charts", flag.ContinueOnError)
	set.StringVar(&root, "root", ".", "the repository's `folder`")
	set.StringVar(&out, "out", "dist/extras/charts", "the `folder` for the packages, below root unless it is absolute")
	set.StringVar(&version, "version", "", "the `release`, without a v")
	if err := set.Parse(args); err != nil {
		return err
	}
	if version == "" || set.NArg() > 0 {
		return errors.New("charts: -version is needed, and no argument")
	}
	if !filepath.IsAbs(out) {
		out = filepath.Join(root, out)
	}
	// What lies there of another version would get a checksum.
	old, err := filepath.Glob(filepath.Join(out, "*.tgz"))
	if err != nil {
		return err
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(root, "charts", "*", "Chart.yaml"))
	if err != nil || len(found) == 0 {
		return fmt.Errorf("charts: none below %s", root)
	}
	for _, c := range found {
		if err := ctx.Err(); err != nil {
			return err
		}
		data, name, err := chart(filepath.Dir(c), version)
		if err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
		file := filepath.Join(out, name+"-"+semantic(version)+".tgz")
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return err
		}
		fmt.Fprintln(stdout, file)
	}
	return nil
}

// chart is the package of one, and its name.
func chart(dir, version string) (data []byte, name string, err error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, "", err
	}
	w := tar.NewWriter(z)
	files, err := filesOf(dir)
	if err != nil {
		return nil, "", err
	}
	for _, below := range files {
		text, err := os.ReadFile(filepath.Join(dir, below))
		if err != nil {
			return nil, "", err
		}
		switch below {
		case "Chart.yaml":
			if text, name, err = released(text, version); err != nil {
				return nil, "", err
			}
			if name != filepath.Base(dir) {
				return nil, "", fmt.Errorf("is named %q", name)
			}
		case "values.yaml":
			if text, err = pullable(text, registry); err != nil {
				return nil, "", fmt.Errorf("values.yaml: %w", err)
			}
		}
		h := &tar.Header{
			Name: path.Join(filepath.Base(dir), filepath.ToSlash(below)), Mode: 0o644, Size: int64(len(text)), ModTime: time.Unix(0, 0), Format: tar.FormatPAX,
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, "", err
		}
		if _, err := w.Write(text); err != nil {
			return nil, "", err
		}
	}
	err = errors.Join(err, w.Close(), z.Close())
	return b.Bytes(), name, err
}

// filesOf are the files of a chart, below its folder, Chart.yaml first, as Helm packs them.
func filesOf(dir string) ([]string, error) {
	files := []string{"Chart.yaml"}
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		// Go files give a chart to programs: they are none of Helm's.
		if err != nil || d.IsDir() || strings.HasSuffix(file, ".go") {
			return err
		}
		below, err := filepath.Rel(dir, file)
		if below != "Chart.yaml" {
			files = append(files, below)
		}
		return err
	})
	return files, err
}

// released puts the release into a Chart.yaml: version, and appVersion with a v, as images are tagged.
func released(text []byte, version string) (out []byte, name string, err error) {
	var top yaml.Node
	if err := yaml.Unmarshal(text, &top); err != nil {
		return nil, "", err
	}
	if len(top.Content) != 1 || top.Content[0].Kind != yaml.MappingNode {
		return nil, "", errors.New("is no map")
	}
	want := map[string]string{"version": semantic(version), "appVersion": "v" + version}
	fields := top.Content[0].Content
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i].Value == "name" {
			name = fields[i+1].Value
		}
		if v, ok := want[fields[i].Value]; ok {
			fields[i+1].SetString(v)
			delete(want, fields[i].Value)
		}
	}
	if len(want) > 0 {
		return nil, "", fmt.Errorf("lacks one of version and appVersion")
	}
	out, err = yaml.Marshal(&top)
	return out, name, err
}

// semantic is the release as Helm wants one: what git says of a commit without a tag, a hash, becomes a pre-release.
func semantic(version string) string {
	if regexp.MustCompile(`^\d+\.\d+\.\d+`).MatchString(version) {
		return version
	}
	return "0.0.0-" + regexp.MustCompile(`[^0-9A-Za-z-]+`).ReplaceAllString("g"+version, "-")
}

// sbom writes the bill of materials of a program, of what the linker has recorded in it and in the programs that it carries.
func sbom(_ context.Context, args []string, stdout io.Writer) error {
	var in, binary, carried, version, out string
	set := flag.NewFlagSet("sbom", flag.ContinueOnError)
	set.StringVar(&in, "in", ".", "the `folder` that the paths of -binary and -out begin in")
	set.StringVar(&binary, "binary", "", "the program's `file`")
	set.StringVar(&carried, "carried", "", "the `files`, in gzip and named PROGRAM_OS_ARCH.gz, of the programs that are carried inside, with commas")
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
	for file := range strings.SplitSeq(carried, ",") {
		if file == "" {
			continue
		}
		info, err := readCarried(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		name, _, _ := strings.Cut(filepath.Base(file), "_")
		programs = append(programs, program{name, info})
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
