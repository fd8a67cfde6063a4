package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

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
