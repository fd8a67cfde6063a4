// Command kubernetes has what the Makefile needs to know of the Kubernetes program, the module kubernetes/:
//
//	go run ./hack/kubernetes modules [VERSION...]   write the module files, go.mod and v1.*.mod in kubernetes and hack/kind-node/programs/kube
//	go run ./hack/kubernetes flags [VERSION]        print the flags of go build
//	go run ./hack/kubernetes linker [VERSION]       print the flags of the linker
//	go run ./hack/kubernetes sources                pack the sources, for a build with the tag release
//
// In a module file, Kubernetes' staging modules have the version of the release. The default release has third parties in the
// versions of this repository, with which it shares what is compiled; any other has those that it was tested with. Write them again after a change of
// a version in internal/kubernetes/release or of what kubernetes/ imports. That needs the module proxy.
//
// Floor 5.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

const (
	dir        = "kubernetes"
	repository = "github.com/vsphere-sandbox/vsphere-sandbox"
	kubernetes = "k8s.io/kubernetes"
	etcdctl    = "go.etcd.io/etcd/etcdctl/v3"
	// csiSpec is not pinned: the CSI node service of this repository serves a newer version of it than kubelets call.
	csiSpec = "github.com/container-storage-interface/spec"
)

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("want modules, flags, linker or sources")
	}
	var chosen []release.Release
	for _, name := range args[1:] {
		r, ok := release.Find(name)
		if !ok {
			return fmt.Errorf("%s: internal/kubernetes/release has no such release", name)
		}
		chosen = append(chosen, r)
	}
	first := release.Default()
	if len(chosen) > 0 {
		first = chosen[0]
	}
	switch args[0] {
	case "modules":
		if len(chosen) == 0 {
			chosen = release.All()
		}
		return modules(chosen)
	case "flags":
		fmt.Println(strings.Join(first.Flags(), " "))
	case "linker":
		fmt.Println(first.Linker())
	case "sources":
		return packSources("internal/kubernetes/programs/sources.tar.gz")
	default:
		return fmt.Errorf("unknown command %q", args[0])
	}
	return nil
}

func modules(all []release.Release) error {
	for _, r := range all {
		if err := write(r); err != nil {
			return fmt.Errorf("%s: %w", r.Version, err)
		}
		if err := writeNode(r); err != nil {
			return fmt.Errorf("%s: the nodes' program: %w", r.Version, err)
		}
		fmt.Println(filepath.Join(dir, r.ModFile()), filepath.Join(nodeDir, nodeModFile(r)))
	}
	return nil
}

// modFile is what `go mod edit -json` prints.
type modFile struct {
	Go      string
	Require []struct{ Path, Version string }
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

// write writes one module file: first with every module pinned that the release requires, then with those pins alone that
// change something.
func write(r release.Release) error {
	pins, err := pins(r.Version)
	if err != nil {
		return err
	}
	if r == release.Default() {
		maps.DeleteFunc(pins, func(path, _ string) bool {
			return !strings.HasPrefix(path, "k8s.io/") || strings.HasPrefix(path, "k8s.io/kube-openapi") || strings.HasPrefix(path, "k8s.io/utils") || strings.HasPrefix(path, "k8s.io/klog")
		})
	}
	if err := tidy(r, pins); err != nil {
		return err
	}
	chosen, err := parse(filepath.Join(dir, r.ModFile()))
	if err != nil {
		return err
	}
	required := map[string]string{}
	for _, m := range chosen.Require {
		required[m.Path] = m.Version
	}
	maps.DeleteFunc(pins, func(path, version string) bool {
		return required[path] == version || required[path] == "" && !strings.HasPrefix(path, "k8s.io/")
	})
	return tidy(r, pins)
}

// pins returns the version of each module that the release requires. Its staging modules are released as v0.MINOR.PATCH.
func pins(version string) (map[string]string, error) {
	out, err := exec.Command("go", "mod", "download", "-json", kubernetes+"@"+version).Output()
	if err != nil {
		return nil, err
	}
	var downloaded struct{ GoMod string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		return nil, err
	}
	m, err := parse(downloaded.GoMod)
	if err != nil {
		return nil, err
	}
	pins := map[string]string{kubernetes: version}
	for _, require := range m.Require {
		pins[require.Path] = require.Version
	}
	delete(pins, csiSpec)
	for _, replace := range m.Replace {
		if strings.HasPrefix(replace.New.Path, "./staging/") {
			pins[replace.Old.Path] = (release.Release{Version: version}).Staging()
		}
	}
	return pins, nil
}

func parse(path string) (modFile, error) {
	var m modFile
	out, err := exec.Command("go", "mod", "edit", "-json", path).Output()
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(out, &m)
}

// tidy writes the module file with these pins, and lets the Go command complete it. The default release keeps the versions that
// its module file has.
func tidy(r release.Release, pins map[string]string) error {
	file := filepath.Join(dir, r.ModFile())
	require := map[string]string{repository: "v0.0.0", kubernetes: r.Version, etcdctl: r.Etcd}
	if old, err := parse(file); err == nil && r == release.Default() {
		for _, m := range old.Require {
			if !strings.HasPrefix(m.Path, "k8s.io/") && m.Path != repository {
				require[m.Path] = m.Version
			}
		}
	}
	replace := map[string]string{repository: "../"}
	for path, version := range pins {
		replace[path] = path + " " + version
	}
	if err := writeModFile(file, r, require, replace); err != nil {
		return err
	}
	hidden, err := hide(r)
	if err != nil {
		return err
	}
	defer os.Remove(hidden)
	cmd := exec.Command("go", "mod", "tidy", "-modfile="+r.ModFile(), "-overlay="+hidden)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod")
	return cmd.Run()
}

// writeModFile writes a module file, and removes its file of sums, which are those of other versions. The values of replace are
// what stands behind the arrow.
func writeModFile(file string, r release.Release, require, replace map[string]string) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "// Kubernetes %s. Generated: go run ./hack/kubernetes modules\n\nmodule %s/%s\n\ngo 1.26.0\n\nrequire (\n", r.Version, repository, filepath.Dir(file))
	for _, path := range slices.Sorted(maps.Keys(require)) {
		fmt.Fprintf(&b, "\t%s %s\n", path, require[path])
	}
	fmt.Fprintf(&b, ")\n\n// The staging modules of Kubernetes %s, and what it needs in another version than would be chosen.\nreplace (\n", r.Version)
	for _, path := range slices.Sorted(maps.Keys(replace)) {
		fmt.Fprintf(&b, "\t%s => %s\n", path, replace[path])
	}
	b.WriteString(")\n")
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		return err
	}
	if err := os.Remove(strings.TrimSuffix(file, ".mod") + ".sum"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// hide writes an overlay without the files of other releases, which go mod tidy counts with any build tags.
func hide(r release.Release) (string, error) {
	replace := map[string]string{}
	ctxt := build.Default
	ctxt.BuildTags = r.Tags()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte("before_v1_")) {
			return err
		}
		ok, err := ctxt.MatchFile(filepath.Split(path))
		if err == nil && !ok {
			path, err = filepath.Abs(path)
			replace[path] = ""
		}
		return err
	})
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp("", "overlay-*.json")
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	return f.Name(), errors.Join(err, f.Close())
}
