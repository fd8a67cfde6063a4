// Command words finds words that this project does not use (words.yaml lists them, with what to write instead) in names, comments
// and messages of Go code, in comments of YAML files, in pages, and in golden help texts.
//
//	go run ./hack/words              the whole tree
//	go run ./hack/words docs pkg/sim these folders and files
//
// It prints one finding a line, "file:line: word: write …", and exits with 1 if there are any.
//
// Floor 5.
package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed words.yaml
var listed []byte

func main() {
	flag.Parse()
	found, err := check(os.Stdout, ".", flag.Args())
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(2)
	case found > 0:
		fmt.Fprintf(os.Stderr, "words: %d findings: hack/words/words.yaml gives the reasons\n", found)
		os.Exit(1)
	}
}

// check prints the findings in those of dir's files, as git lists them, that paths name, and returns their number. No paths
// means all files.
func check(w io.Writer, dir string, paths []string) (int, error) {
	words, err := parse(listed)
	if err != nil {
		return 0, err
	}
	cmd := exec.Command("git", append([]string{"ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"}, paths...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("git ls-files: %w", err)
	}
	found := 0
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		read := reader(name)
		if read == nil {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		} else if err != nil {
			return 0, err
		}
		lines, err := read(name, data)
		if err != nil {
			return 0, err
		}
		for _, l := range lines {
			for _, word := range words {
				for _, hit := range word.find(name, l.text) {
					fmt.Fprintf(w, "%s:%d: %q: write %s\n", name, l.number, hit, word.Write)
					found++
				}
			}
		}
	}
	return found, nil
}

// parse reads the list of words.
func parse(data []byte) ([]word, error) {
	var words []word
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&words); err != nil {
		return nil, fmt.Errorf("words.yaml: %w", err)
	}
	for i := range words {
		if err := words[i].compile(); err != nil {
			return nil, fmt.Errorf("words.yaml: %w", err)
		}
	}
	return words, nil
}

// scan calls each with the lines of data.
func scan(data []byte, each func(number int, text string)) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		each(n, lines.Text())
	}
}
