package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// stamp is what an image says of its origin.
type stamp struct {
	// source is the repository's address.
	source string
	// version and revision are git's; "unknown" outside of a repository.
	version, revision string
	// kubernetes is the release that is linked in, "v1.36.4"; "" when there is none.
	kubernetes string
	// created is SOURCE_DATE_EPOCH or else the commit's time; 1970 outside of a repository.
	created time.Time
}

func readStamp(ctx context.Context, o *options) (stamp, error) {
	gomod, err := os.ReadFile(filepath.Join(o.root, "go.mod"))
	if err != nil {
		return stamp{}, err
	}
	s := stamp{
		source:     "https://" + word(gomod, "module"),
		kubernetes: strings.Replace(word(gomod, "k8s.io/component-base"), "v0.", "v1.", 1),
		version:    cmp.Or(o.version, git(ctx, o.root, "describe", "--tags", "--always", "--dirty"), "unknown"),
		revision:   cmp.Or(o.revision, git(ctx, o.root, "rev-parse", "HEAD"), "unknown"),
	}
	epoch := cmp.Or(os.Getenv("SOURCE_DATE_EPOCH"), git(ctx, o.root, "log", "-1", "--format=%ct"), "0")
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return stamp{}, fmt.Errorf("SOURCE_DATE_EPOCH=%s: seconds since 1970 are needed", epoch)
	}
	s.created = time.Unix(seconds, 0).UTC()
	return s, nil
}

// ldflags are the linker's that make a program say its version: that of the Kubernetes libraries, which they compare
// feature gates with, and its own after it.
func (s stamp) ldflags() string {
	if s.kubernetes == "" {
		return ""
	}
	// What follows the plus is letters, digits, dots and hyphens.
	own := regexp.MustCompile(`[^0-9A-Za-z.-]`).ReplaceAllString(s.version, "-")
	return " -X k8s.io/component-base/version.gitVersion=" + s.kubernetes + "+" + own
}

// labels are the image's annotations, and its configuration's labels: OCI's names for them.
func (s stamp) labels(p program) map[string]string {
	all := map[string]string{
		"org.opencontainers.image.title":    p.title,
		"org.opencontainers.image.source":   s.source,
		"org.opencontainers.image.version":  s.version,
		"org.opencontainers.image.revision": s.revision,
		"org.opencontainers.image.created":  s.created.Format(time.RFC3339),
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
	if p.description != "" {
		all["org.opencontainers.image.description"] = p.description
	}
	return all
}

// git returns what git says, "" when it says nothing or this is no repository.
func git(ctx context.Context, dir string, args ...string) string {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...).Output()
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(out))
}

// word returns what follows a word that stands first on a line of go.mod.
func word(gomod []byte, first string) string {
	for line := range strings.Lines(string(gomod)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == first {
			return fields[1]
		}
	}
	return ""
}
