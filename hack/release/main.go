package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/template"
	"time"

	"go.yaml.in/yaml/v3"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run does what the first word asks for, and writes a line for each file made.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	verbs := map[string]func(context.Context, []string, io.Writer) error{
		"single": single, "sbom": sbom, "charts": charts, "formula": formula,
	}
	if len(args) == 0 || verbs[args[0]] == nil {
		return fmt.Errorf("want one of: single, sbom, charts, formula")
	}
	return verbs[args[0]](ctx, args[1:], stdout)
}

// config is .goreleaser.yaml, as far as it is used: the names are GoReleaser's. Parts that only matter when a release is
// published are read over.
type config struct {
	Version     int      `yaml:"version"`
	ProjectName string   `yaml:"project_name"`
	Dist        string   `yaml:"dist"`
	Env         []string `yaml:"env"`
	Before      struct {
		Hooks []string `yaml:"hooks"`
	} `yaml:"before"`
	Builds   []build   `yaml:"builds"`
	Archives []archive `yaml:"archives"`
	SBOMs    []bill    `yaml:"sboms"`
	Checksum struct {
		NameTemplate string `yaml:"name_template"`
		ExtraFiles   []struct {
			Glob string `yaml:"glob"`
		} `yaml:"extra_files"`
	} `yaml:"checksum"`
	Snapshot struct {
		VersionTemplate string `yaml:"version_template"`
	} `yaml:"snapshot"`

	// Of publishing.
	Changelog   yaml.Node `yaml:"changelog"`
	Release     yaml.Node `yaml:"release"`
	ReportSizes bool      `yaml:"report_sizes"`
}

type build struct {
	ID           string   `yaml:"id"`
	Main         string   `yaml:"main"`
	Binary       string   `yaml:"binary"`
	Goos         []string `yaml:"goos"`
	Goarch       []string `yaml:"goarch"`
	Env          []string `yaml:"env"`
	Tags         []string `yaml:"tags"`
	Ldflags      []string `yaml:"ldflags"`
	ModTimestamp string   `yaml:"mod_timestamp"`
	Hooks        struct {
		Pre []string `yaml:"pre"`
	} `yaml:"hooks"`
}

type archive struct {
	ID              string   `yaml:"id"`
	Formats         []string `yaml:"formats"`
	NameTemplate    string   `yaml:"name_template"`
	WrapInDirectory string   `yaml:"wrap_in_directory"`
	BuildsInfo      info     `yaml:"builds_info"`
	Files           []source `yaml:"files"`
}

type source struct {
	Src  string `yaml:"src"`
	Dst  string `yaml:"dst"`
	Info info   `yaml:"info"`
}

// info is what an archive says of a file in place of what the disk says.
type info struct {
	Owner string      `yaml:"owner"`
	Group string      `yaml:"group"`
	Mode  fs.FileMode `yaml:"mode"`
	MTime string      `yaml:"mtime"`
}

type bill struct {
	ID        string   `yaml:"id"`
	Artifacts string   `yaml:"artifacts"`
	Documents []string `yaml:"documents"`
	Cmd       string   `yaml:"cmd"`
	Args      []string `yaml:"args"`
	Env       []string `yaml:"env"`
}

// readConfig reads the file. A key that is not known here is an error with its line: it would be left out otherwise.
func readConfig(file string) (*config, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	c := &config{}
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(c); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	switch {
	case c.Version != 2:
		err = fmt.Errorf("version %d, not 2", c.Version)
	case len(c.Builds) != 1 || len(c.Archives) != 1 || len(c.SBOMs) != 1:
		err = fmt.Errorf("%d builds, %d archives, %d sboms: one each is understood", len(c.Builds), len(c.Archives), len(c.SBOMs))
	case len(c.Archives[0].Formats) != 1 || c.Archives[0].Formats[0] != "tar.gz":
		err = fmt.Errorf("archives in %v: tar.gz alone is understood", c.Archives[0].Formats)
	case c.Archives[0].WrapInDirectory != "true":
		err = fmt.Errorf("archives without wrap_in_directory are not supported")
	case c.SBOMs[0].Artifacts != "binary" || len(c.SBOMs[0].Documents) != 1:
		err = fmt.Errorf("sboms of %s: one document of each binary is understood", c.SBOMs[0].Artifacts)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}

// registry is where the images of a release are pushed, step 5 of docs/releasing.md. Their tag is the chart's appVersion.
const registry = "ghcr.io/vsphere-sandbox"

// pullable sets the registry in a values.yaml, whose images otherwise are those of `make image` on this host and cannot
// be pulled. It edits the text, to keep the comments that users read.
func pullable(text []byte, registry string) ([]byte, error) {
	local := regexp.MustCompile(`(?m)^( +repository: )localhost/([a-z0-9-]+)$`)
	if !local.Match(text) {
		return nil, errors.New("names no image of localhost/")
	}
	out := local.ReplaceAll(text, []byte("${1}"+registry+"/${2}"))
	if regexp.MustCompile(`localhost/`).Match(out) {
		return nil, errors.New("names localhost/ in a way that is not understood")
	}
	return out, nil
}

// values are what templates of the configuration may name: GoReleaser's words for them. One that is not here is an error.
type values map[string]any

// newValues are those of a snapshot of the repository in a folder, for a platform.
func newValues(ctx context.Context, c *config, root, goos, goarch string) (values, error) {
	commit, err := git(ctx, root, "rev-parse", "HEAD")
	if err != nil {
		return nil, err
	}
	seconds, err := git(ctx, root, "log", "-1", "--format=%ct")
	if err != nil {
		return nil, err
	}
	stamp, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, err
	}
	environment := map[string]string{}
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		environment[name] = value
	}
	v := values{
		"ProjectName": c.ProjectName, "Os": goos, "Arch": goarch, "IsSnapshot": true, "Env": environment,
		"Commit": commit, "CommitDate": time.Unix(stamp, 0).UTC().Format(time.RFC3339), "CommitTimestamp": seconds,
	}
	for _, e := range c.Env {
		e, err := v.apply(e)
		if err != nil {
			return nil, err
		}
		name, value, _ := strings.Cut(e, "=")
		environment[name] = value
	}
	version, err := v.apply(c.Snapshot.VersionTemplate)
	v["Version"] = version
	return v, err
}

func (v values) apply(text string) (string, error) {
	t, err := template.New("").Option("missingkey=error").
		Funcs(template.FuncMap{"trimprefix": strings.TrimPrefix}).Parse(text)
	if err != nil {
		return "", fmt.Errorf("template %q: %w", text, err)
	}
	var b strings.Builder
	if err := t.Execute(&b, map[string]any(v)); err != nil {
		return "", fmt.Errorf("template %q: %w", text, err)
	}
	return b.String(), nil
}

func (v values) all(texts []string) ([]string, error) {
	out := make([]string, len(texts))
	for i, text := range texts {
		var err error
		if out[i], err = v.apply(text); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// environ is the environment of what is run.
func (v values) environ() []string {
	var list []string
	for name, value := range v["Env"].(map[string]string) {
		list = append(list, name+"="+value)
	}
	return list
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// sums writes the checksums of what was made, and of the extra files, in the form that sha256sum checks.
func (j *job) sums(files ...string) error {
	for _, e := range j.Checksum.ExtraFiles {
		glob, err := j.apply(e.Glob)
		if err != nil {
			return err
		}
		found, err := filepath.Glob(filepath.Join(j.root, glob))
		if err != nil || len(found) == 0 {
			return fmt.Errorf("checksum: no file is %s", glob)
		}
		files = append(files, found...)
	}
	slices.SortFunc(files, func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) })
	var text strings.Builder
	for _, file := range files {
		sum, err := sha256Of(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s\n", sum, filepath.Base(file))
		fmt.Fprintln(j.stdout, file)
	}
	name, err := j.apply(j.Checksum.NameTemplate)
	if err != nil {
		return err
	}
	fmt.Fprintln(j.stdout, j.dist(name))
	return os.WriteFile(j.dist(name), []byte(text.String()), 0o644)
}

func sha256Of(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

// readSums reads what sums or GoReleaser has written: the sum by a file's name.
func readSums(file string) (map[string]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all := map[string]string{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		sum, name, ok := strings.Cut(lines.Text(), "  ")
		if raw, err := hex.DecodeString(sum); !ok || err != nil || len(raw) != sha256.Size {
			return nil, fmt.Errorf("%s:%d: not a SHA-256 sum and a name", file, n)
		}
		all[name] = sum
	}
	return all, lines.Err()
}
