package smoke

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/csi"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/scenario/smoke"
)

// judgeDriver has the command judge the CSI driver of the flags, beside the built-in cloud controller manager.
func (o *options) judgeDriver(suiteGiven bool) error {
	if o.csi.Disabled() {
		return report.UsageError("--csi module:v3.7.0", "smoke --csi %s: there is no driver to judge", o.csi.Driver)
	}
	if o.csi.Watch != "" {
		return report.UsageError("--csi "+o.csi.Watch, "--csi-watch: smoke judges one build; name it with --csi")
	}
	if o.install.as != asProcess {
		return report.UsageError("leave --as out", "--as %s: is for cloud controller managers; name one with --ccm", o.install.as)
	}
	o.driver = true
	if !suiteGiven {
		o.suite = fullSuite
	}
	load := o.load
	o.load = func(suite string) ([]*scenario.Scenario, error) {
		list, err := load(suite)
		return smoke.Volumes(list), err
	}
	o.checks = smoke.DriverChecks
	return nil
}

// driverOf returns the flags of a driver: the one that is judged, or its baseline, which gets nothing but the configuration.
func (s *settings) driverOf(source string) *csi.Flags {
	if source == cmp.Or(s.csi.Driver, csi.Builtin) {
		return &s.csi
	}
	return &csi.Flags{Driver: source, Config: s.csi.Config}
}

// checkDrivers refuses drivers that the cluster cannot have.
func (s *settings) checkDrivers(kind bool, sources ...string) error {
	for _, text := range sources {
		flags := s.driverOf(text)
		if err := cmp.Or(flags.Check(), flags.CheckCluster(kind)); err != nil {
			return err
		}
	}
	return nil
}

// resolveDriver makes sure that there is the program, which may take minutes.
func (b *bench) resolveDriver(ctx context.Context, text string) (smoke.Program, error) {
	c, err := b.o.driverOf(text).Resolve(ctx, b.o.Streams)
	if err != nil {
		return smoke.Program{}, err
	}
	p := c.Options.Program
	if p.Source == "" { // the built-in one, or one that runs as pods
		p = program.Program{Source: text, Own: !b.o.driverOf(text).Chosen()}
	}
	b.drivers[p.Source] = p
	judged := named(p)
	judged.Driver = true
	return judged, nil
}

// prepareSanity builds the sanity suite, unless this machine cannot: then the check is skipped, and says why.
func (b *bench) prepareSanity(ctx context.Context, o *smoke.Options) error {
	if b.o.ground.Podded() || !smoke.Chosen(b.o.only, "sanity") {
		return nil
	}
	source, err := program.CSISanity.Parse("module:" + program.SanityVersion)
	if err != nil {
		return err
	}
	suite, err := source.Resolve(ctx, program.Options{Progress: func(text string) { b.Println("  … %s", text) }})
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		o.NoSanity = "the suite cannot be built: " + err.Error()
		return nil
	}
	o.Sanity = func(ctx context.Context, r *scenario.Running) (smoke.Sanity, error) {
		status, err := r.Status(ctx)
		if err != nil {
			return smoke.Sanity{}, err
		}
		return sanity(ctx, suite.Path, status.Dir)
	}
	return nil
}

// sanity runs the sanity suite against the controller and the node service of one node of the sandbox whose directory is dir.
func sanity(ctx context.Context, suite, dir string) (smoke.Sanity, error) {
	var got smoke.Sanity
	nodes, err := filepath.Glob(filepath.Join(dir, "nodes", "*", "kubelet", "plugins", names.Driver, "csi.sock"))
	if err != nil || len(nodes) == 0 {
		return got, errors.Join(err, fmt.Errorf("no node of %s has a CSI node service", dir))
	}
	// The path of a socket has at most 108 bytes: both are named from the folder of the node's.
	at := filepath.Dir(slices.Min(nodes))
	controller, err := filepath.Rel(at, filepath.Join(dir, "csi", "csi.sock"))
	if err != nil {
		return got, err
	}
	scratch, err := os.MkdirTemp("", "csi-sanity-")
	if err != nil {
		return got, err
	}
	defer os.RemoveAll(scratch)
	results := filepath.Join(scratch, "junit.xml")
	cmd := exec.CommandContext(ctx, suite,
		"-csi.endpoint=csi.sock", "-csi.controllerendpoint="+controller, // a path: its unix: knows no relative ones
		"-csi.mountdir="+filepath.Join(scratch, "target"), "-csi.stagingdir="+filepath.Join(scratch, "staging"),
		"-csi.testvolumesize=1073741824", "-csi.testvolumeexpandsize=2147483648",
		"-ginkgo.junit-report="+results, "-ginkgo.no-color", "-ginkgo.succinct",
	)
	cmd.Dir, cmd.WaitDelay = at, time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return got, ctx.Err()
	}
	text, rerr := os.ReadFile(results)
	if rerr != nil { // it did not get as far as a report
		last := strings.TrimSpace(string(out))
		return got, fmt.Errorf("%w: %s", cmp.Or(err, rerr), last[max(0, len(last)-500):])
	}
	return readSanity(text)
}

// sanityReason is the first line of a failure, with the first answer of the driver below it.
func sanityReason(message string) string {
	reason, rest, _ := strings.Cut(strings.TrimSpace(message), "\n")
	if i := strings.Index(rest, "rpc error: "); i >= 0 {
		answer, _, _ := strings.Cut(rest[i:], "\n")
		reason += " " + answer
	}
	return reason
}

// readSanity reads the JUnit report of the suite.
func readSanity(text []byte) (smoke.Sanity, error) {
	var doc struct {
		Cases []struct {
			Name    string `xml:"name,attr"`
			Status  string `xml:"status,attr"`
			Failure struct {
				Message string `xml:"message,attr"`
			} `xml:"failure"`
		} `xml:"testsuite>testcase"`
	}
	var got smoke.Sanity
	if err := xml.Unmarshal(text, &doc); err != nil {
		return got, fmt.Errorf("report of the sanity suite: %w", err)
	}
	for _, c := range doc.Cases {
		if !strings.HasPrefix(c.Name, "[It] ") { // what the suite does before and after all
			continue
		}
		switch c.Status {
		case "passed":
			got.Passed++
		case "skipped", "pending":
			got.Skipped++
		default:
			got.Failed = append(got.Failed, smoke.SanityFailure{Test: strings.TrimPrefix(c.Name, "[It] "), Reason: cmp.Or(sanityReason(c.Failure.Message), c.Status)})
		}
	}
	if got.Passed+got.Skipped+len(got.Failed) == 0 {
		return got, errors.New("report of the sanity suite: has no test")
	}
	return got, nil
}
