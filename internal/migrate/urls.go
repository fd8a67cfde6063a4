package migrate

import (
	"maps"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// urls are those of datastores, and which of them anything asked for.
type urls struct {
	given map[string]string
	used  map[string]bool
	asked []string
}

// of is the URL of a datastore; empty when it is not known.
func (u *urls) of(name string) string {
	u.used[name] = true
	u.asked = append(u.asked, name)
	return u.given[name]
}

// unused are the problems of URLs that are none, or that nothing asked for: a name that is mistyped would be lost.
func (u *urls) unused() (problems []config.Problem) {
	for _, name := range slices.Sorted(maps.Keys(u.given)) {
		p := config.Problem{File: "datastore URLs", Path: name}
		switch {
		case !strings.HasPrefix(u.given[name], "ds:///"):
			p.Message = "the URL of a datastore begins with ds:///"
		case u.used[name]:
			continue
		default:
			p.Message = "neither the file nor a StorageClass names this datastore"
			if best := nearest.Of(name, u.asked); best != "" {
				p.Hint = "did you mean " + best + "?"
			}
		}
		problems = append(problems, p)
	}
	return problems
}
