// Package testgrid checks that a folder has the layout that TestGrid and Prow's viewers read: started.json, finished.json,
// build-log.txt and JUnit files.
//
// The rules are those of the public readers: github.com/GoogleCloudPlatform/testgrid (metadata, metadata/junit, pkg/updater) and Prow's
// metadata for Spyglass.
//
// Floor 4.
package testgrid

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"unicode/utf8"
)

// Check returns everything that is wrong with a folder; nil for a right one.
func Check(dir fs.FS) []error {
	c := &check{dir: dir}
	c.started()
	c.finished()
	c.log()
	c.junit()
	return c.wrong
}

type check struct {
	dir   fs.FS
	began int64
	wrong []error
	// failed says whether a test case of a JUnit file has failed.
	passed *bool
}

func (c *check) add(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Errorf(format, args...))
}

// read returns a JSON object by its keys, or nil.
func (c *check) read(name string) map[string]json.RawMessage {
	text, err := fs.ReadFile(c.dir, name)
	if err != nil {
		c.add("%w", err)
		return nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		c.add("%s: %w", name, err)
	}
	return all
}

// value decodes a value strictly. It reports whether there is a right one.
func (c *check) value(name string, all map[string]json.RawMessage, key string, required bool, into any) bool {
	text, ok := all[key]
	if !ok {
		if required && all != nil {
			c.add("%s: has no %q", name, key)
		}
		return false
	}
	if err := json.Unmarshal(text, into); err != nil {
		c.add("%s: %q: %w", name, key, err)
		return false
	}
	return true
}

// earliest is a time before any run, in seconds: a timestamp in milliseconds is after latest.
const (
	earliest = 1_000_000_000
	latest   = 100_000_000_000
)

func (c *check) timestamp(name string, all map[string]json.RawMessage) int64 {
	var at int64
	if c.value(name, all, "timestamp", true, &at) && (at < earliest || at > latest) {
		c.add("%s: timestamp %d is not in seconds", name, at)
	}
	return at
}

// metadata checks an object of texts: the readers take texts, and objects of them, and leave anything else out.
func (c *check) metadata(name string, all map[string]json.RawMessage) {
	var values map[string]any
	if !c.value(name, all, "metadata", false, &values) {
		return
	}
	for key, value := range values {
		switch value.(type) {
		case string, map[string]any:
		default:
			c.add("%s: metadata %q is %T, which is not shown: want a text", name, key, value)
		}
	}
}

func (c *check) started() {
	const name = "started.json"
	all := c.read(name)
	c.began = c.timestamp(name, all)
	c.metadata(name, all)
	var repos map[string]string
	c.value(name, all, "repos", false, &repos)
}

// results are the words that Prow writes.
func results() []string { return []string{"SUCCESS", "FAILURE", "ABORTED", "ERROR", "UNKNOWN"} }

func (c *check) finished() {
	const name = "finished.json"
	all := c.read(name)
	if at := c.timestamp(name, all); at != 0 && at < c.began {
		c.add("%s: ends before it began", name)
	}
	c.metadata(name, all)
	var passed bool
	var result, version string
	if c.value(name, all, "passed", true, &passed) {
		c.passed = &passed
	}
	if c.value(name, all, "result", true, &result) {
		if !slices.Contains(results(), result) {
			c.add("%s: result %q is none of %q", name, result, results())
		} else if passed != (result == "SUCCESS") {
			c.add("%s: passed is %t, and the result %s", name, passed, result)
		}
	}
	c.value(name, all, "job-version", false, &version)
}

func (c *check) log() {
	text, err := fs.ReadFile(c.dir, "build-log.txt")
	switch {
	case err != nil:
		c.add("%w", err)
	case !utf8.Valid(text):
		c.add("build-log.txt: is not UTF-8")
	}
}

// junitName is what TestGrid takes for a JUnit file.
var junitName = regexp.MustCompile(`^junit(_[^/]*)?\.xml$`)

// suites, suite and testCase are what the readers take from a JUnit file.
type suites struct {
	XMLName xml.Name
	Suites  []suite `xml:"testsuite"`
}

type suite struct {
	Name     string     `xml:"name,attr"`
	Tests    *int       `xml:"tests,attr"`
	Failures *int       `xml:"failures,attr"`
	Errors   *int       `xml:"errors,attr"`
	Skipped  *int       `xml:"skipped,attr"`
	Time     *float64   `xml:"time,attr"`
	Cases    []testCase `xml:"testcase"`
	Suites   []suite    `xml:"testsuite"`
}

type testCase struct {
	Name    string    `xml:"name,attr"`
	Class   string    `xml:"classname,attr"`
	Time    *float64  `xml:"time,attr"`
	Failure *struct{} `xml:"failure"`
	Error   *struct{} `xml:"error"`
	Skipped *struct{} `xml:"skipped"`
}

// mostSame is how many test cases of one name TestGrid shows.
const mostSame = 20

func (c *check) junit() {
	found, failed := 0, false
	err := fs.WalkDir(c.dir, "artifacts", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !junitName.MatchString(path.Base(name)) {
			return err
		}
		found++
		text, err := fs.ReadFile(c.dir, name)
		if err != nil {
			return err
		}
		failed = c.document(name, text) || failed
		return nil
	})
	switch {
	case err != nil:
		c.add("%w", err)
	case found == 0:
		c.add("artifacts: has no junit_*.xml")
	case failed && c.passed != nil && *c.passed:
		c.add("finished.json: passed, but a test case failed")
	}
}

// document checks one file. It reports whether a test case failed.
func (c *check) document(name string, text []byte) (failed bool) {
	var all suites
	decoder := xml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&all); err != nil {
		c.add("%s: %w", name, err)
		return false
	}
	if rest := text[decoder.InputOffset():]; len(bytes.TrimSpace(rest)) > 0 {
		c.add("%s: there is something after the document", name)
	}
	if all.XMLName.Local != "testsuites" {
		c.add("%s: is <%s>, want <testsuites>", name, all.XMLName.Local)
	}
	same := map[string]int{}
	for i := range all.Suites {
		failed = c.suite(name, &all.Suites[i], same) || failed
	}
	for test, n := range same {
		if n > mostSame {
			c.add("%s: %d test cases are called %q, of which %d are shown", name, n, test, mostSame)
		}
	}
	return failed
}

func (c *check) suite(name string, s *suite, same map[string]int) (failed bool) {
	var failures, errs, skipped int
	for i := range s.Cases {
		t := &s.Cases[i]
		if t.Name == "" {
			c.add("%s: %s: a test case has no name", name, s.Name)
		}
		if t.Time == nil || *t.Time < 0 {
			c.add("%s: %s: has no time", name, t.Name)
		}
		outcomes := 0
		for _, o := range []struct {
			has   *struct{}
			count *int
		}{{t.Failure, &failures}, {t.Error, &errs}, {t.Skipped, &skipped}} {
			if o.has != nil {
				*o.count++
				outcomes++
			}
		}
		if outcomes > 1 {
			c.add("%s: %s: has more than one outcome", name, t.Name)
		}
		same[t.Class+"."+t.Name]++
	}
	for what, pair := range map[string][2]*int{
		"tests": {s.Tests, new(len(s.Cases))}, "failures": {s.Failures, &failures}, "errors": {s.Errors, &errs}, "skipped": {s.Skipped, &skipped},
	} {
		if pair[0] != nil && *pair[0] != *pair[1] {
			c.add("%s: %s: has %s=%d, and %d of them", name, s.Name, what, *pair[0], *pair[1])
		}
	}
	for i := range s.Suites {
		failed = c.suite(name, &s.Suites[i], same) || failed
	}
	return failed || failures+errs > 0
}
