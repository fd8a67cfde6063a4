package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// asset is an archive of a release.
type asset struct{ File, SHA256 string }

// formula renders the Homebrew formula of the checksums that lie in the folder of a release. One without the archives of all
// four platforms is an error that names them, unless it is for trying out.
func formula(_ context.Context, args []string, stdout io.Writer) error {
	var root, dist, version, out string
	var partial bool
	set := flag.NewFlagSet("formula", flag.ContinueOnError)
	set.StringVar(&root, "root", ".", "the repository's `folder`")
	set.StringVar(&dist, "dist", "dist/release", "the `folder` with checksums.txt, below root unless it is absolute")
	set.StringVar(&version, "version", "", "the `release`, without a v")
	set.StringVar(&out, "out", "", "the formula's `file` (vsphere-sandbox.rb in -dist)")
	set.BoolVar(&partial, "partial", false, "do with the platforms that there are")
	if err := set.Parse(args); err != nil {
		return err
	}
	if version == "" || set.NArg() > 0 {
		return errors.New("formula: -version is needed, and no argument")
	}
	if !filepath.IsAbs(dist) {
		dist = filepath.Join(root, dist)
	}
	if out == "" {
		out = filepath.Join(dist, "vsphere-sandbox.rb")
	}
	sums, err := readSums(filepath.Join(dist, "checksums.txt"))
	if err != nil {
		return err
	}
	text, err := render(filepath.Join(root, "packaging", "homebrew", "vsphere-sandbox.rb.tmpl"), version, sums, partial)
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, text, 0o644); err != nil {
		return err
	}
	fmt.Fprintln(stdout, out)
	return nil
}

func render(file, version string, sums map[string]string, partial bool) ([]byte, error) {
	t, err := template.New(filepath.Base(file)).Option("missingkey=error").ParseFiles(file)
	if err != nil {
		return nil, err
	}
	data := struct {
		Version                                          string
		DarwinARM64, DarwinAMD64, LinuxARM64, LinuxAMD64 *asset
	}{Version: version}
	var missing []string
	for _, of := range []struct {
		platform string
		asset    **asset
	}{
		{"darwin_arm64", &data.DarwinARM64}, {"darwin_amd64", &data.DarwinAMD64}, {"linux_arm64", &data.LinuxARM64}, {"linux_amd64", &data.LinuxAMD64},
	} {
		name := "vsphere-sandbox_" + version + "_" + of.platform + ".tar.gz"
		if sum := sums[name]; sum != "" {
			*of.asset = &asset{name, sum}
			continue
		}
		missing = append(missing, name)
	}
	if len(missing) == 4 || len(missing) > 0 && !partial {
		return nil, fmt.Errorf("formula: checksums.txt has no %s", strings.Join(missing, ", "))
	}
	var b bytes.Buffer
	err = t.Execute(&b, data)
	return b.Bytes(), err
}
