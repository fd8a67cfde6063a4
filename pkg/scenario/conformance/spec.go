package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
)

// Spec is one test.
type Spec struct {
	// Name is its whole text: "[sig-apps] Deployment should run the lifecycle of a Deployment [Conformance]".
	Name string `json:"name"`
	// File is where it is written, below test/e2e: "apps/deployment.go".
	File string `json:"file"`
	// Labels are those of Ginkgo: Conformance, Serial, Slow, sig-apps.
	Labels []string `json:"labels,omitempty"`
}

// SIG is the special interest group that owns the test: "apps", or "other".
func (s *Spec) SIG() string {
	if m := sigPattern.FindStringSubmatch(s.Name); m != nil {
		return m[1]
	}
	return "other"
}

var sigPattern = regexp.MustCompile(`\[sig-([a-z-]+)\]`)

// Has reports whether it has a label.
func (s *Spec) Has(label string) bool { return slices.Contains(s.Labels, label) }

// spec and suiteReport are what is read of Ginkgo's report (types.Report of github.com/onsi/ginkgo/v2).
type spec struct {
	ContainerHierarchyTexts  []string
	ContainerHierarchyLabels [][]string
	LeafNodeType             string
	LeafNodeText             string
	LeafNodeLabels           []string
	LeafNodeLocation         struct{ FileName string }
	State                    string
	StartTime                time.Time
	RunTime                  time.Duration
	Failure                  struct {
		Message  string
		Location struct {
			FileName   string
			LineNumber int
		}
	}
}

type suiteReport struct {
	SuiteSucceeded             bool
	SpecialSuiteFailureReasons []string
	SpecReports                []spec
}

// test is the type of a node that is a test.
const test = "It"

// name joins the texts as Ginkgo does for --focus: without those that are empty.
func (s *spec) name() string {
	texts := slices.DeleteFunc(append(slices.Clone(s.ContainerHierarchyTexts), s.LeafNodeText), func(text string) bool { return text == "" })
	return strings.TrimSpace(strings.Join(texts, " "))
}

// failed reports whether the state is one of Ginkgo's failures.
func (s *spec) failed() bool {
	switch s.State {
	case "failed", "aborted", "panicked", "timedout":
		return true
	}
	return false
}

func (s *spec) file() string {
	_, file, ok := strings.Cut(filepath.ToSlash(s.LeafNodeLocation.FileName), "/test/e2e/")
	if !ok {
		file = filepath.Base(s.LeafNodeLocation.FileName)
	}
	return file
}

// readReport reads a report in JSON, which has one suite.
func readReport(path string) (*suiteReport, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []suiteReport
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("the report of e2e.test: %w", err)
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("the report of e2e.test has %d suites", len(all))
	}
	return &all[0], nil
}

// List returns all tests that the program has, in its order, with those of the storage driver of a definition file if driver is not
// "". dir is a folder for its report.
func List(ctx context.Context, program, dir, driver string) ([]Spec, error) {
	path := filepath.Join(dir, "list.json")
	args := []string{"--provider=skeleton", "--ginkgo.dry-run", "--ginkgo.no-color", "--ginkgo.succinct", "--ginkgo.json-report=" + path}
	cmd := exec.CommandContext(ctx, program, append(args, driverArgs(driver)...)...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.Env = append(os.Environ(), "TMPDIR="+dir) // it leaves temporary folders behind
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	defer os.Remove(path)
	report, rerr := readReport(path)
	if rerr != nil {
		return nil, errors.Join(fmt.Errorf("e2e.test lists no tests: %s", shorten.LastLines(out.String(), 3)), err)
	}
	var all []Spec
	for i := range report.SpecReports {
		s := &report.SpecReports[i]
		if s.LeafNodeType != test {
			continue
		}
		labels := slices.Clone(s.LeafNodeLabels)
		for _, more := range s.ContainerHierarchyLabels {
			labels = append(labels, more...)
		}
		all = append(all, Spec{Name: s.name(), File: s.file(), Labels: labels})
	}
	if len(all) == 0 {
		return nil, errors.New("e2e.test has no tests")
	}
	return all, nil
}

// driverArgs are the arguments for a definition file of a storage driver.
func driverArgs(file string) []string {
	if file == "" {
		return nil
	}
	return []string{"--storage.testdriver=" + file}
}
