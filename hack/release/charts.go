package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

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
