package config

import "strings"

// Route configures routes to the pods of nodes in NSX.
type Route struct {
	// RouterPath is the tier-1 gateway that gets the routes: /infra/tier-1s/NAME.
	RouterPath string `yaml:"routerPath"`
}

// tier1s is what the paths of tier-1 gateways begin with.
const tier1s = "/infra/tier-1s/"

// routes is the section of routes as written.
type routes struct {
	at position

	routerPath cell[string]
}

func routeFields() []field[routes] {
	return []field[routes]{{"routerPath", "router-path", "", "", func(r *routes) any { return &r.routerPath }}}
}

// resolveRoute returns the routes, and nil if the configuration has none.
func (f *file) resolveRoute(p *problems) *Route {
	path := f.route.routerPath
	switch {
	case !path.set:
		return nil
	case !f.nsxt.said():
		p.warn(f.route.at, "has no effect without nsxt, which says where NSX is")
		return nil
	}
	// Upstream's provider takes the last element of any path, and then waits for a route that has another path.
	name, ok := strings.CutPrefix(path.value, tier1s)
	if path.good() && (!ok || name == "" || strings.Contains(name, "/")) {
		hint := ""
		if last := path.value[strings.LastIndex(path.value, "/")+1:]; last != "" && !strings.Contains(path.value, "/tier-0s/") {
			hint = "write " + tier1s + last
		}
		p.at(path.at, hint, "%q is no path of a tier-1 gateway (%sNAME)", path.value, tier1s)
	}
	return &Route{RouterPath: path.value}
}
