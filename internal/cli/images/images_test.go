package images

import (
	"archive/tar"
	stdbytes "bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/sidecars"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// docker has images by name, with their layers.
type docker struct{ has map[string][]string }

func (d *docker) Run(_ context.Context, c runtime.Call) error {
	fail := func(text string) error {
		fmt.Fprintln(c.Stderr, text)
		return &runtime.ExitError{Status: 1}
	}
	switch strings.Join(c.Args[:min(2, len(c.Args))], " ") {
	case "image ls":
		for name := range d.has {
			fmt.Fprintln(c.Stdout, name)
		}
		return nil
	case "image inspect":
		var all []map[string]any
		for _, name := range c.Args[2:] {
			layers, ok := d.has[name]
			if !ok {
				return fail("Error: No such image: " + name)
			}
			all = append(all, map[string]any{"Id": "sha256:1", "RepoTags": []string{name}, "Os": "linux", "Architecture": goruntime.GOARCH, "RootFS": map[string]any{"Layers": layers}})
		}
		return json.NewEncoder(c.Stdout).Encode(all)
	}
	switch c.Args[0] {
	case "pull":
		return fail("Error response from daemon: no such host")
	case "load":
		files := map[string][]byte{}
		for t := tar.NewReader(c.Stdin); ; {
			h, err := t.Next()
			if err == io.EOF {
				break
			} else if err != nil {
				return err
			}
			if files[h.Name], err = io.ReadAll(t); err != nil {
				return err
			}
		}
		var list []struct{ RepoTags, Layers []string }
		if err := json.Unmarshal(files["manifest.json"], &list); err != nil {
			return err
		}
		for _, m := range list {
			var layers []string
			for _, l := range m.Layers {
				layers = append(layers, fmt.Sprintf("sha256:%x", sha256.Sum256(files[l])))
			}
			d.has[m.RepoTags[0]] = layers
		}
		return nil
	}
	return fail("unexpected " + strings.Join(c.Args, " "))
}

// place is a machine of a test: its Docker, its cache with one node image, and the programs that images are made of.
type place struct {
	*clitest.Env
	options options
}

func newPlace(t *testing.T, d *docker) place {
	t.Helper()
	e := clitest.NewEnv(nil)
	o := newOptions(e.Deps)
	o.cache = t.TempDir()
	o.detect = func(context.Context, string) (*runtime.Runtime, error) {
		if d == nil {
			return nil, &coded.Error{Code: runtime.Stopped, Message: "docker does not answer", Try: "start it"}
		}
		return runtime.With("docker", d), nil
	}
	o.kubernetes, o.self = "v1.36.4", filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(o.self, program(), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(sidecars.Env, o.self)
	return place{e, o}
}

// program is the head of a program for this machine that needs no libraries: all that is looked at.
func program() []byte {
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[goruntime.GOARCH]
	h := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT), Ehsize: 64, Phentsize: 56, Shentsize: 64,
	}
	var b stdbytes.Buffer
	_ = binary.Write(&b, binary.LittleEndian, h) // into memory
	return b.Bytes()
}

// cached puts a node image into the cache, as hack/kind-node does.
func (p place) cached(t *testing.T) {
	t.Helper()
	f, err := os.Create(filepath.Join(p.options.cache, "node-0123.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := tar.NewWriter(f)
	layer := "what is on a node"
	for _, file := range [][2]string{
		{"c.json", fmt.Sprintf(`{"os":"linux","architecture":%q,"rootfs":{"diff_ids":["sha256:%x"]},"config":{"Labels":{"com.github.vsphere-sandbox.kind-node":"x","org.opencontainers.image.version":%q}}}`,
			goruntime.GOARCH, sha256.Sum256([]byte(layer)), p.options.kubernetes)},
		{"layer.tar", layer},
		{"manifest.json", `[{"Config":"c.json","RepoTags":["vsphere-sandbox/kind-node:0123"],"Layers":["layer.tar"]}]`},
	} {
		if err := w.WriteHeader(&tar.Header{Name: file[0], Mode: 0o644, Size: int64(len(file[1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, file[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// plain is a text without what is another on each day: digests, tags of content, sizes, the folder of the test.
func (p place) plain(text string) string {
	text = strings.ReplaceAll(text, p.options.cache, "CACHE")
	for pattern, with := range map[string]string{
		`sha256:[0-9a-f]{64}`: "sha256:D", `(localhost/[a-z-]+):[0-9a-f]{12}`: "$1:T", `\b[0-9.]+[KM]i\b`: "SIZE", ` {3,}`: "   ", `linux/` + goruntime.GOARCH: "linux/ARCH",
		`"size": [0-9]+`: `"size": 0`,
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, with)
	}
	return text
}

func (p place) list(t *testing.T, args ...string) report.Record {
	t.Helper()
	return p.Run(t.Context(), NewCmdList(p.Deps, func(ctx context.Context, o *listOptions) error {
		o.options = p.options
		return list(ctx, o)
	}), args...)
}

func TestList(t *testing.T) {
	for name, tt := range map[string]struct {
		docker *docker
		cached bool
		args   []string
	}{
		"loaded":    {docker: &docker{has: map[string][]string{"vsphere-sandbox/kind-node:0123": nil, "kindest/node:v1.36.4": nil}}, cached: true, args: []string{"-o", "wide"}},
		"missing":   {docker: &docker{}, args: []string{"--ground", "kind"}},
		"no-docker": {cached: true},
		"existing":  {args: []string{"--ground", "existing", "-o", "json"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, tt.docker)
			if tt.cached {
				p.cached(t)
			}
			if r := p.list(t, tt.args...); r.Exit != 0 {
				t.Fatalf("%+v", r)
			}
			clitest.Golden(t, "list."+name, p.plain(p.Out.String())+"--- stderr\n"+p.plain(p.Err.String()))
		})
	}
	p := newPlace(t, nil)
	for _, args := range [][]string{{"--ground", "moon"}, {"--for", "moon"}} {
		if r := p.list(t, args...); r.Exit != report.Usage {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

// The images of the conformance tests are those of the archive that hack/kind-node has made for this Kubernetes.
func TestListForConformance(t *testing.T) {
	p := newPlace(t, nil)
	if r := p.list(t, "--for", "conformance"); r.Exit != 0 || !strings.Contains(p.Err.String(), "try: sudo hack/kind-node/build -tests") {
		t.Errorf("without an archive: %+v, said %q", r, p.Err)
	}
	for _, version := range []string{p.options.kubernetes, "v1.35.4"} {
		p.tests(t, version)
	}
	p.Out.Reset()
	if r := p.list(t, "--for", "conformance", "-o", "name"); r.Exit != 0 || p.Out.String() != "image/registry.k8s.io/e2e-test-images/agnhost:"+p.options.kubernetes+"\n" {
		t.Errorf("%+v, said %q", r, p.Out)
	}
}

// tests puts an archive of test images of a release into the cache.
func (p place) tests(t *testing.T, version string) {
	t.Helper()
	f, err := os.Create(filepath.Join(p.options.cache, "tests-"+version+"-0123.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := tar.NewWriter(f)
	index := `{"manifests":[{"digest":"sha256:1","annotations":{"io.containerd.image.name":"registry.k8s.io/e2e-test-images/agnhost:` + version + `"}}]}`
	if err := w.WriteHeader(&tar.Header{Name: "index.json", Mode: 0o644, Size: int64(len(index))}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, index); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// What was saved without a Docker is loaded into one, and again is left alone.
func TestSaveAndLoad(t *testing.T) {
	p := newPlace(t, nil)
	p.cached(t)
	file := filepath.Join(t.TempDir(), "images.tar")
	saved := func(args ...string) report.Record {
		return p.Run(t.Context(), NewCmdSave(p.Deps, func(ctx context.Context, o *saveOptions) error {
			o.options = p.options
			return save(ctx, o)
		}), args...)
	}
	if r := saved(file); r.Exit != 0 {
		t.Fatalf("%+v", r)
	}
	if !strings.Contains(p.Out.String(), "5 images") {
		t.Errorf("said %q", p.Out)
	}
	if r := saved(file); r.Exit != report.Usage {
		t.Errorf("over what is there: %+v", r)
	}
	if r := saved(filepath.Join(t.TempDir(), "none", "x")); r.Exit != report.Usage {
		t.Errorf("into no folder: %+v", r)
	}

	d := &docker{has: map[string][]string{}}
	there := newPlace(t, d)
	loaded := func(p place, args ...string) report.Record {
		p.Out.Reset()
		return p.Run(t.Context(), NewCmdLoad(p.Deps, func(ctx context.Context, o *loadOptions) error {
			o.options = p.options
			return load(ctx, o)
		}), args...)
	}
	for _, want := range []string{"loaded", "was there"} {
		if r := loaded(there, file); r.Exit != 0 || strings.Count(there.Out.String(), want) != 5 {
			t.Errorf("%+v, said %q, want %s", r, there.Out, want)
		}
	}
	if r := loaded(there, file, "-o", "json"); r.Exit != 0 || !strings.Contains(there.Out.String(), `"loaded": false`) {
		t.Errorf("%+v, said %q", r, there.Out)
	}
	if r := loaded(newPlace(t, nil), file); r.Exit != report.Prerequisite || r.Code != runtime.Stopped {
		t.Errorf("without a Docker: %+v", r)
	}
	if err := os.Truncate(file, 4096); err != nil {
		t.Fatal(err)
	}
	if r := loaded(there, file); r.Exit != report.Usage || r.Code != "image-archive-broken" {
		t.Errorf("cut short: %+v", r)
	}
}

// Where there is no node image to be had, nothing is written.
func TestSaveNothing(t *testing.T) {
	for name, d := range map[string]*docker{"node-image-missing": {}, runtime.Stopped: nil} {
		p := newPlace(t, d)
		dir := t.TempDir()
		r := p.Run(t.Context(), NewCmdSave(p.Deps, func(ctx context.Context, o *saveOptions) error {
			o.options = p.options
			return save(ctx, o)
		}), filepath.Join(dir, "x"))
		if r.Code != name || r.Exit != report.Prerequisite || r.Try == "" {
			t.Errorf("%+v, want %s", r, name)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%v, %v", left, err)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, args := range []string{"--help", "list --help", "save --help", "load --help"} {
		e := clitest.NewEnv(nil)
		if r := e.Run(t.Context(), NewCmdImages(e.Deps), strings.Fields(args)...); r.Exit != 0 {
			t.Errorf("%s: %+v", args, r)
		}
		words := strings.Fields("images " + args)
		clitest.Golden(t, "help."+words[len(words)-2], e.Out.String())
	}
}
