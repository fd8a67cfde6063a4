// Package chart renders Helm charts, as "helm template" does: with Helm's own engine, without a cluster and without a helm program.
//
//	c, err := chart.Load("charts/vsphere-cpi")
//	manifest, err := c.Render(chart.Options{Release: "vsphere-cpi", Namespace: "kube-system", Kubernetes: "v1.36.4"})
//
// Floor 0. It is the only package that links Helm.
package chart

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
)

// Chart is a chart that was read. Create it with [Load], [Read] or [Open].
type Chart struct{ c *v2.Chart }

// Load reads a chart: a folder with a Chart.yaml, or an archive (.tgz).
func Load(name string) (*Chart, error) {
	c, err := loader.Load(name)
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", name, err)
	}
	return checked(c)
}

// Read reads an archive (.tgz).
func Read(archive io.Reader) (*Chart, error) {
	c, err := loader.LoadArchive(archive)
	if err != nil {
		return nil, fmt.Errorf("chart: %w", err)
	}
	return checked(c)
}

// Open reads a chart whose folder is the root of a file system.
func Open(folder fs.FS) (*Chart, error) {
	var files []*archive.BufferedFile
	err := fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(folder, name)
		files = append(files, &archive.BufferedFile{Name: name, Data: text})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("chart: %w", err)
	}
	c, err := loader.LoadFiles(files)
	if err != nil {
		return nil, fmt.Errorf("chart: %w", err)
	}
	return checked(c)
}

func checked(c *v2.Chart) (*Chart, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("chart %s: %w", c.Name(), err)
	}
	if kind := c.Metadata.Type; kind != "" && kind != "application" {
		return nil, fmt.Errorf("chart %s: is of type %s, which installs nothing", c.Name(), kind)
	}
	return &Chart{c}, nil
}

// String returns the name and the version of the chart: "vsphere-cpi-1.36.0".
func (c *Chart) String() string { return c.c.Name() + "-" + c.c.Metadata.Version }

// Options are what a release of the chart is made with.
type Options struct {
	// Release is the name of the release, Namespace its namespace.
	Release, Namespace string
	// Kubernetes is the version of the cluster, such as v1.36.4. Default: that of the linked client-go.
	Kubernetes string
	// Values are files of values. Later ones take precedence.
	Values []string
	// Set has values that take precedence over files. Null removes a value.
	Set map[string]any
	// Installer is what the chart's objects say that they are managed by. Default: Helm.
	Installer string
}

// Render returns the manifest that a first installation of the chart applies: CRDs first, then templates by their names, without
// notes and tests. Functions that ask a cluster return nothing. An error names the template and the value that is wrong.
func (c *Chart) Render(o Options) ([]byte, error) {
	values, err := read(o.Values)
	if err != nil {
		return nil, err
	}
	values = loader.MergeMaps(values, o.Set)
	capabilities := common.DefaultCapabilities.Copy()
	if o.Kubernetes != "" {
		version, err := common.ParseKubeVersion(o.Kubernetes)
		if err != nil {
			return nil, fmt.Errorf("chart %s: Kubernetes %s: %w", c, o.Kubernetes, err)
		}
		capabilities.KubeVersion = *version
	}
	if want := c.c.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, capabilities.KubeVersion.String()) {
		return nil, fmt.Errorf("chart %s: wants Kubernetes %s, the cluster is %s", c, want, capabilities.KubeVersion.String())
	}
	if err := chartutil.ProcessDependencies(c.c, values); err != nil {
		return nil, fmt.Errorf("chart %s: %w", c, err)
	}
	release := common.ReleaseOptions{Name: o.Release, Namespace: o.Namespace, Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(c.c, values, release, capabilities)
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", c, err)
	}
	if o.Installer != "" {
		all["Release"].(map[string]any)["Service"] = o.Installer
	}
	files, err := engine.Render(c.c, all)
	if err != nil {
		return nil, fmt.Errorf("chart %s does not render: %w", c, brief(err))
	}
	var b bytes.Buffer
	for _, crd := range c.c.CRDObjects() {
		document(&b, crd.Filename, string(crd.File.Data))
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if ext := path.Ext(name); ext == ".txt" || ext == ".tpl" || isTest(files[name]) || strings.TrimSpace(files[name]) == "" {
			continue
		}
		document(&b, name, files[name])
	}
	return b.Bytes(), nil
}

// testHook finds the annotation of a test, which "helm test" runs.
var testHook = regexp.MustCompile(`(?m)^\s*["']?helm\.sh/hook["']?:.*\btest`)

func isTest(text string) bool { return testHook.MatchString(text) }

func document(b *bytes.Buffer, name, text string) {
	fmt.Fprintf(b, "---\n# Source: %s\n%s\n", filepath.ToSlash(name), strings.TrimSpace(text))
}

// brief leaves out the chain of templates that Helm's errors begin with: the last one has the place and the reason.
func brief(err error) error {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return errors.New(strings.Join(lines, ": "))
}

// read merges files of values.
func read(files []string) (map[string]any, error) {
	all := map[string]any{}
	for _, name := range files {
		text, err := input.File(name, input.MaxFile)
		if err != nil {
			return nil, fmt.Errorf("values: %w", err)
		}
		one := map[string]any{}
		if err := yaml.Unmarshal(text, &one); err != nil {
			return nil, fmt.Errorf("values %s: %w", name, err)
		}
		all = loader.MergeMaps(all, one)
	}
	return all, nil
}
