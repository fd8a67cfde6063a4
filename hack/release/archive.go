package main

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

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
