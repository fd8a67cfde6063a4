package main

import (
	"archive/tar"
	"bytes"
	"cmp"
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
	"slices"
	"strings"
	"text/template"
	"time"
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

// member is a file for an archive.
type member struct {
	file, name string
	info       info
}

// pack makes the archive of the program and of the files that the configuration names, and returns its path.
func (j *job) pack(program string) (string, error) {
	a := j.Archives[0]
	folder, err := j.apply(a.NameTemplate)
	if err != nil {
		return "", err
	}
	var members []member
	for _, s := range a.Files {
		found, err := j.members(s)
		if err != nil {
			return "", err
		}
		members = append(members, found...)
	}
	// As GoReleaser has them: files by name, then the program.
	slices.SortFunc(members, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	a.BuildsInfo.Mode = cmp.Or(a.BuildsInfo.Mode, 0o755)
	members = append(members, member{program, j.Builds[0].Binary, a.BuildsInfo})
	file := j.dist(folder + ".tar.gz")
	f, err := os.Create(file)
	if err != nil {
		return "", err
	}
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return "", errors.Join(err, f.Close())
	}
	w := tar.NewWriter(z)
	for _, m := range members {
		if err := j.add(w, folder, m); err != nil {
			return "", errors.Join(fmt.Errorf("%s: %w", m.file, err), f.Close())
		}
	}
	return file, errors.Join(w.Close(), z.Close(), f.Close())
}

// members are the files of one entry: a file, the files that a pattern matches, or all those in a folder, which keep their
// names below it.
func (j *job) members(s source) ([]member, error) {
	src, err := j.apply(s.Src)
	if err != nil {
		return nil, err
	}
	whole := filepath.Join(j.root, src)
	dir, err := os.Stat(whole)
	if err != nil || !dir.IsDir() {
		matches, err := filepath.Glob(whole)
		if err != nil || len(matches) == 0 {
			return nil, errors.Join(fmt.Errorf("archives: no file is %s", src), err)
		}
		var list []member
		for _, m := range matches {
			name := path.Join(s.Dst, filepath.Base(m))
			if s.Dst == "" {
				name, err = filepath.Rel(j.root, m)
			}
			list = append(list, member{m, filepath.ToSlash(name), s.Info})
		}
		return list, err
	}
	var list []member
	err = filepath.WalkDir(whole, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(whole, file)
		list = append(list, member{file, path.Join(s.Dst, filepath.ToSlash(name)), s.Info})
		return err
	})
	return list, err
}

func (j *job) add(w *tar.Writer, folder string, m member) error {
	f, err := os.Open(m.file)
	if err != nil {
		return err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return err
	}
	h := &tar.Header{
		Name: path.Join(folder, m.name), Size: stat.Size(), ModTime: stat.ModTime(), Format: tar.FormatPAX,
		Mode: int64(cmp.Or(m.info.Mode, stat.Mode().Perm())), Uname: m.info.Owner, Gname: m.info.Group,
	}
	if m.info.MTime != "" {
		at, err := j.apply(m.info.MTime)
		if err != nil {
			return err
		}
		if h.ModTime, err = time.Parse(time.RFC3339, at); err != nil {
			return err
		}
	}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}
