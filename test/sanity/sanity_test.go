package sanity

import (
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/kubernetes-csi/csi-test/v5/pkg/sanity"
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/onsi/gomega"
	"google.golang.org/grpc"
)

// ids are ids that a volume or a node of vSphere may have, and that none has.
type ids struct{ sanity.DefaultIDGenerator }

func (ids) GenerateUniqueValidVolumeID() string { return uuid.NewString() }
func (ids) GenerateUniqueValidNodeID() string   { return uuid.NewString() }

// unclaimed are the tests of the suite that may be skipped: what they are about, the driver does not claim to do.
func unclaimed() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`volume is already published but is incompatible`), // PUBLISH_READONLY
		regexp.MustCompile(`source volume`),                                   // CLONE_VOLUME
		regexp.MustCompile(`volume attribute class`),                          // MODIFY_VOLUME
		regexp.MustCompile(`ModifyVolume`),
		regexp.MustCompile(`GroupController`),
		regexp.MustCompile(`pagination should detect volumes added`), // the suite itself leaves it out; package controller has it
	}
}

// TestSanity is the whole suite for every driver. Ginkgo runs one suite in the life of a process.
func TestSanity(t *testing.T) {
	for _, d := range []struct {
		name  string
		start func(*testing.T) (conn *grpc.ClientConn, why string)
		use   string // of volumes: mount or block
	}{
		{"dir", always(onDir), "mount"},
		{"hollow", always(onHollow), "mount"},
		{"device", onDevice, "mount"},
		{"simulation", always(onSimulation), "mount"},
		{"hollow, raw block", always(onHollow), "block"},
		{"simulation, raw block", always(onSimulation), "block"},
	} {
		conn, why := d.start(t)
		if why != "" {
			t.Logf("%s: left out: %s", d.name, why)
			continue
		}
		config := sanity.NewTestConfig()
		config.TargetPath, config.StagingPath = filepath.Join(t.TempDir(), "target"), filepath.Join(t.TempDir(), "staging")
		config.TestVolumeSize, config.TestVolumeExpandSize = gib/4, gib/2
		config.TestNodeVolumeAttachLimit = d.name == "hollow" || d.name == "simulation" // 59 loop devices are too many to ask for
		config.IDGen, config.TestVolumeAccessType = ids{}, d.use
		ginkgo.Describe(d.name, func() {
			// With an address the suite would connect itself, and sometimes miss the moment when that is possible.
			sanity.GinkgoTest(&config).Conn = conn
		})
	}
	gomega.RegisterFailHandler(ginkgo.Fail)
	var skipped []string
	ginkgo.ReportAfterEach(func(r ginkgo.SpecReport) {
		name := r.FullText()
		if r.State.Is(types.SpecStateSkipped|types.SpecStatePending) &&
			!slices.ContainsFunc(unclaimed(), func(e *regexp.Regexp) bool { return e.MatchString(name) }) &&
			!(r.Failure.Message == "testnodevolumeattachlimit not enabled") {
			skipped = append(skipped, name+": "+r.Failure.Message)
		}
	})
	suite, reporter := ginkgo.GinkgoConfiguration()
	reporter.Succinct = !testing.Verbose()
	ginkgo.RunSpecs(t, "csi-sanity", suite, reporter)
	for _, s := range skipped {
		t.Errorf("skipped: %s", s)
	}
}

func always(start func(*testing.T) *grpc.ClientConn) func(*testing.T) (*grpc.ClientConn, string) {
	return func(t *testing.T) (*grpc.ClientConn, string) { return start(t), "" }
}
