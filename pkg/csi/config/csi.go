package config

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	provider "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

const (
	longestClusterID = 64 // CNS's
	mostCategories   = 5  // upstream's
)

// labelKey is a Kubernetes label's with a prefix.
var labelKey = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?/[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// checkCSI makes the configuration that a csi-vsphere.conf means.
func checkCSI(name string, data []byte, r Reading) (*Config, []provider.Problem) {
	w := read(name, data)
	cfg := &Config{
		Form: CSI, ClusterID: w.global.get("cluster-id").text, Distribution: w.global.get("cluster-distribution").text,
		SnapshotLimit: w.number(w.snapshot.get("global-max-snapshots-per-block-volume"), 1, mostSnapshots, defaultSnapshots),
		Page:          min(w.number(w.global.get("query-limit"), 1, 1<<30, defaultPage), defaultPage),
	}
	if id := w.global.get("cluster-id"); id.set && len(id.text) > longestClusterID {
		w.problem(id, "", "is longer than %d characters", longestClusterID)
	} else if !id.set {
		if cfg.ClusterID = r.ClusterID; r.ClusterID == "" && len(data) > 0 {
			w.problems = append(w.problems, noClusterID(name, "write one under [Global]"))
		}
	}
	w.topology(cfg)
	w.connect(cfg, r)
	return concluded(cfg, w.problems)
}

// number reads a number within bounds; otherwise when it is absent.
func (w *written) number(v value, least, most, otherwise int) int {
	if !v.set {
		return otherwise
	}
	n, err := strconv.Atoi(strings.TrimSpace(v.text))
	switch {
	case err != nil:
		w.problem(v, "", "must be a whole number, not %q", v.text)
	case n < least || n > most:
		w.problem(v, "", "%d is not from %d to %d", n, least, most)
	default:
		return n
	}
	return otherwise
}

// truth reads a truth value in the words of gcfg.
func (w *written) truth(v value) bool {
	switch strings.ToLower(strings.TrimSpace(v.text)) {
	case "true", "yes", "on", "1":
		return true
	case "", "false", "no", "off", "0":
		return false
	}
	w.problem(v, "", "must be true or false, not %q", v.text)
	return false
}

// list reads a list with commas.
func list(v value) []string {
	var items []string
	for item := range strings.SplitSeq(v.text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// topology reads the tag categories and their labels.
func (w *written) topology(cfg *Config) {
	region, zone, categories := w.labels.get("region"), w.labels.get("zone"), w.labels.get("topology-categories")
	switch {
	case categories.set && (region.set || zone.set):
		w.problem(region.or(zone), "leave region and zone out", "stands beside topology-categories, which replace it")
	case region.set != zone.set:
		w.problem(region.or(zone), "", "region and zone are needed together")
	case region.set:
		cfg.Categories = []string{region.text, zone.text}
	default:
		cfg.Categories = list(categories)
	}
	for i, c := range cfg.Categories {
		if slices.Contains(cfg.Categories[:i], c) {
			w.problem(categories.or(zone), "", "%q stands twice", c)
		}
	}
	if len(cfg.Categories) > mostCategories {
		w.problem(categories, "", "%d categories, of which %d are the most", len(cfg.Categories), mostCategories)
	}
	for _, category := range sorted(w.categories) {
		v := w.categories[category].get("label")
		at := v
		if !v.set {
			at = value{line: w.categories[category].line, column: w.categories[category].column, path: w.categories[category].title}
		}
		switch {
		case !slices.Contains(cfg.Categories, category):
			w.problem(at, nearestCategory(category, cfg.Categories), "the category is not among [Labels] topology-categories")
		case !v.set:
			w.warn(at, "has no effect: it has no label")
		case !labelKey.MatchString(v.text):
			w.problem(v, "", "%q is not the key of a label like topology.kubernetes.io/zone", v.text)
		default:
			if cfg.Labels == nil {
				cfg.Labels = map[string]string{}
			}
			cfg.Labels[category] = v.text
		}
	}
}

func nearestCategory(name string, all []string) string {
	if best := nearest.Of(name, all); best != "" {
		return "did you mean " + strconv.Quote(best) + "?"
	}
	return ""
}

// connect reads the vCenters.
func (w *written) connect(cfg *Config, r Reading) {
	fallback := ""
	if info, err := os.Stat(r.DefaultSecrets); r.DefaultSecrets != "" && err == nil && info.IsDir() {
		fallback = r.DefaultSecrets
	}
	names := sorted(w.vcenters)
	for i, name := range names {
		at := value{line: w.vcenters[name].line, column: w.vcenters[name].column, path: w.vcenters[name].title}
		for _, other := range names[:i] {
			if provider.SameHost(name, other) {
				w.problem(at, "", "this host is that of %s too", w.vcenters[other].title)
			}
		}
		cfg.VCenters = append(cfg.VCenters, w.vcenter(name, at, fallback))
		if url := w.vcenters[name].get("migration-datastore-url"); url.set {
			cfg.MigrationDatastores = append(cfg.MigrationDatastores, url.text)
		}
	}
	if len(names) == 0 && !w.failed() { // else it may be a section that could not be read
		w.problem(value{}, `write a section [VirtualCenter "HOST"]`, "no vCenter is configured")
	}
	if len(names) > 1 && len(cfg.Categories) == 0 {
		w.warn(value{}, "several vCenters, and no topology-categories under [Labels]: no volume is where every node reaches it")
	}
}
