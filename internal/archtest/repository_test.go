package archtest

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// planned are packages that rules already speak of and that are not there yet.
func planned() []string {
	return nil
}

func repository(t *testing.T) *Module {
	t.Helper()
	m, err := Read(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestRepository is what the package is for.
func TestRepository(t *testing.T) {
	for _, v := range Check(repository(t)) {
		t.Error(v)
	}
}

// Programs are built, not committed: one slips in with a build in the root and git add of everything.
func TestNoPrograms(t *testing.T) {
	out, err := exec.Command("git", "-C", "../..", "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("not in a clone: %v", err) // the source may come as an archive
	}
	const most = 512 << 10 // bytes
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		info, err := os.Lstat("../../" + name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			t.Error(err)
		} else if info.Size() > most {
			t.Errorf("%s: %d bytes, at most %d: it looks like something that was built", name, info.Size(), most)
		}
	}
}

// A module that imports a package of this one has to repeat its replace lines, and cannot list modules that are required as
// v0.0.0, which k8s.io/kubernetes does.
func TestGoModServesOthers(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`(?m)^replace\b|=>|^\s*\S+ v0\.0\.0( |$)|\bk8s\.io/kubernetes `).Find(text); m != nil {
		t.Errorf("go.mod has %q", m)
	}
}

// A rule about packages that do not exist is outdated.
func TestRulesSpeakOfPackagesThatExist(t *testing.T) {
	dirs := repository(t).dirs()
	for _, p := range patterns() {
		if slices.Contains(planned(), p) {
			continue
		}
		found := false
		for dir := range dirs {
			found = found || fits(p, dir)
		}
		if !found {
			t.Errorf("%s: the rules name it, and there is no such package", p)
		}
	}
}

// patterns are all that the tables say of packages of this module.
func patterns() []string {
	var all []string
	for _, f := range floors() {
		all = append(all, f.trees...)
	}
	for _, e := range append(sideways(), upward()...) {
		all = append(all, e.from, e.to)
	}
	for _, s := range seals() {
		all = append(append(all, s.tree), s.imports...)
	}
	for _, c := range confinements() {
		all = append(all, c.in...)
	}
	for _, l := range links() {
		all = append(append(all, l.packages...), l.but...)
	}
	for _, r := range reservations() {
		all = append(append(all, r.target), r.by...)
	}
	return all
}

// The Makefile leaves the race detector away from what links Kubernetes, and only from that.
func TestMakefileKnowsTheHeavyPackages(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^HEAVY := (.*)$`).FindSubmatch(makefile)
	if found == nil {
		t.Fatal("Makefile: no HEAVY")
	}
	heavy, err := regexp.Compile(strings.ReplaceAll(string(found[1]), "$$", "$"))
	if err != nil {
		t.Fatal(err)
	}
	m := repository(t)
	g := newGraph(m)
	for dir := range m.dirs() {
		_, links := g.reaches(dir, link{never: []string{"k8s.io/kubernetes/..."}})
		needs := match([]string{"test/e2e", "test/clusterapi", "test/upstream", "test/lab", "test/parity", "test/safety", "test/deployed", "test/reported", "test/mutants/proof", "test/sidecars", "test/minors", "test/csiupstream", "test/storage", "test/tutorials", "test/kind/...", "test/real/...", "test/migrate", "test/release", "test/secrets"}, dir) // the binary
		if got := heavy.MatchString(m.Path + "/" + dir); got != (links || needs) {
			t.Errorf("%s: links k8s.io/kubernetes or needs the binary: %t; in the Makefile's HEAVY: %t", dir, links || needs, got)
		}
	}
}
