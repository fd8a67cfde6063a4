package manifests

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// changed has another value for everything in values.yaml, and for every key of a vCenter.
func changed() map[string]string {
	const (
		vc  = `vcenters: [{name: a, server: a.test, username: u, password: p, `
		nsx = `nsxt: {host: nsx.test, secretName: nsx}, loadBalancer: {size: SMALL, tier1GatewayPath: /infra/tier-1s/t, ipPoolName: p, tcpAppProfileName: t, udpAppProfileName: u}`
	)
	return map[string]string{
		"vcenters":                               `vcenters: [{name: a, server: b.test, username: u, password: p}]`,
		"vcenters[].name":                        `vcenters: [{name: b, server: a.test, username: u, password: p}]`,
		"vcenters[].server":                      `vcenters: [{name: a, server: b.test, username: u, password: p}]`,
		"vcenters[].port":                        vc + `port: 8443}]`,
		"vcenters[].datacenters":                 vc + `datacenters: [dc]}]`,
		"vcenters[].ca":                          vc + `ca: "-----BEGIN CERTIFICATE-----"}]`,
		"vcenters[].caFile":                      vc + `caFile: /etc/ca/a.crt}]`,
		"vcenters[].thumbprint":                  vc + `thumbprint: 00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33}]`,
		"vcenters[].insecureFlag":                vc + `insecureFlag: true}]`,
		"vcenters[].ipFamily":                    vc + `ipFamily: [ipv6]}]`,
		"vcenters[].soapRoundtripCount":          vc + `soapRoundtripCount: 7}]`,
		"vcenters[].username":                    `vcenters: [{name: a, server: a.test, username: v, password: p}]`,
		"vcenters[].password":                    `vcenters: [{name: a, server: a.test, username: u, password: q}]`,
		"vcenters[].secretName":                  `vcenters: [{name: a, server: a.test, secretName: mine}]`,
		"credentials.create":                     `{vcenters: [{name: a, server: a.test}], credentials: {create: false}}`,
		"credentials.secretName":                 `credentials: {secretName: other}`,
		"labels.region":                          `labels: {region: r, zone: z}`,
		"labels.zone":                            `labels: {region: r, zone: other}`,
		"nodes.internalNetworkSubnetCidr":        `nodes: {internalNetworkSubnetCidr: 10.0.0.0/8}`,
		"nodes.externalNetworkSubnetCidr":        `nodes: {externalNetworkSubnetCidr: 10.0.0.0/8}`,
		"nodes.internalVmNetworkName":            `nodes: {internalVmNetworkName: net}`,
		"nodes.externalVmNetworkName":            `nodes: {externalVmNetworkName: net}`,
		"nodes.excludeInternalNetworkSubnetCidr": `nodes: {excludeInternalNetworkSubnetCidr: 10.0.0.0/8}`,
		"nodes.excludeExternalNetworkSubnetCidr": `nodes: {excludeExternalNetworkSubnetCidr: 10.0.0.0/8}`,
		"nsxt":                                   `{` + nsx + `}`,
		"loadBalancer":                           `{` + nsx + `}`,
		"loadBalancerClass":                      `{` + nsx + `, loadBalancerClass: {public: {ipPoolName: q}}}`,
		"config.create":                          `config: {create: false}`,
		"config.name":                            `config: {name: other}`,
		"skipNodeDeletion":                       `skipNodeDeletion: true`,
		"image.repository":                       `image: {repository: registry.test/ccm}`,
		"image.tag":                              `image: {tag: v1}`,
		"image.digest":                           `image: {digest: "sha256:0000000000000000000000000000000000000000000000000000000000000000"}`,
		"image.pullPolicy":                       `image: {pullPolicy: Always}`,
		"imagePullSecrets":                       `imagePullSecrets: [{name: pull}]`,
		"logLevel":                               `logLevel: 4`,
		"extraArgs":                              `extraArgs: [--concurrent-node-syncs=4]`,
		"extraEnv":                               `extraEnv: [{name: A, value: b}]`,
		"leaderElection.enabled":                 `leaderElection: {enabled: false}`,
		"leaderElection.namespace":               `leaderElection: {namespace: other}`,
		"health.port":                            `health: {port: 10400}`,
		"metrics.securePort":                     `metrics: {securePort: 10258}`,
		"serviceAccount.create":                  `serviceAccount: {create: false}`,
		"serviceAccount.name":                    `serviceAccount: {name: other}`,
		"serviceAccount.annotations":             `serviceAccount: {annotations: {a: b}}`,
		"rbac.create":                            `rbac: {create: false}`,
		"rbac.secretNames":                       `rbac: {secretNames: [more]}`,
		"rbac.loadBalancer":                      `rbac: {loadBalancer: true}`,
		"dnsPolicy":                              `dnsPolicy: ClusterFirst`,
		"hostAliases":                            `hostAliases: [{ip: 10.0.0.1, hostnames: [a.test]}]`,
		"priorityClassName":                      `priorityClassName: ""`,
		"annotations":                            `annotations: {a: b}`,
		"podAnnotations":                         `podAnnotations: {a: b}`,
		"podLabels":                              `podLabels: {a: b}`,
		"updateStrategy":                         `updateStrategy: {type: OnDelete}`,
		"resources":                              `resources: {limits: {memory: 1Gi}}`,
		"nodeSelector":                           `nodeSelector: {a: b}`,
		"affinity":                               `affinity: null`,
		"tolerations":                            `tolerations: []`,
		"podSecurityContext":                     `podSecurityContext: {fsGroup: 1}`,
		"securityContext":                        `securityContext: {runAsUser: 1}`,
		"extraVolumes":                           `extraVolumes: [{name: ca, configMap: {name: ca}}]`,
		"extraVolumeMounts":                      `extraVolumeMounts: [{name: ca, mountPath: /etc/ca}]`,
	}
}

// unchanged is what a change is compared with: the same values, but for the one that is tried.
func unchanged(path string) string {
	switch {
	case strings.HasPrefix(path, "vcenters[]."), path == "credentials.create":
		return `vcenters: [{name: a, server: a.test, username: u, password: p}]`
	case path == "labels.zone":
		return `labels: {region: r, zone: z}`
	}
	return ""
}

// Nothing can be set to no effect, and what it renders are still objects and a configuration that is read.
func TestEveryValueHasAnEffect(t *testing.T) {
	tried := changed()
	for path, values := range tried {
		t.Run(path, func(t *testing.T) {
			all := helmed(t, "kube-system", values)
			if path != "config.create" {
				loaded(t, all)
			}
			if cmp.Equal(helmed(t, "kube-system", unchanged(path)), all) {
				t.Errorf("%s changes nothing", values)
			}
		})
	}
	if diff := cmp.Diff(schemaPaths(t), slices.Sorted(maps.Keys(tried))); diff != "" {
		t.Errorf("-the schema's values +those tried here:\n%s", diff)
	}
}

// The schema, values.yaml and the templates know the same values.
func TestValuesAreDocumented(t *testing.T) {
	text, err := os.ReadFile(chartDir + "/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defaults := leaves("", loadChart(t).Values)
	for _, path := range schemaPaths(t) {
		if key, ok := strings.CutPrefix(path, "vcenters[]."); ok {
			if !regexp.MustCompile(`(?m)^#   (\w+, )*` + key + `\b`).Match(text) {
				t.Errorf("values.yaml does not explain %s", path)
			}
			continue
		}
		if !slices.ContainsFunc(defaults, func(leaf string) bool { return leaf == path || strings.HasPrefix(leaf, path+".") }) {
			t.Errorf("values.yaml has no %s", path)
		}
	}
	used := regexp.MustCompile(`\.Values((?:\.\w+)+)`)
	for _, f := range loadChart(t).Templates {
		for _, match := range used.FindAllStringSubmatch(string(f.Data), -1) {
			path := match[1][1:]
			if !slices.ContainsFunc(schemaPaths(t), func(p string) bool { return p == path || strings.HasPrefix(p, path+".") }) {
				t.Errorf("%s uses %s, which the schema does not know", f.Name, path)
			}
		}
	}
}

// schema is what the tests need to know of a JSON schema.
type schema struct {
	Properties map[string]schema
	Items      *schema
}

// schemaPaths are the values that the schema knows one by one, sorted; what has the shape of a Kubernetes field counts as
// one.
func schemaPaths(t *testing.T) []string {
	t.Helper()
	var s schema
	if err := json.Unmarshal(loadChart(t).Schema, &s); err != nil {
		t.Fatal(err)
	}
	delete(s.Properties, "global") // Helm's own
	var all []string
	for name, p := range s.Properties {
		all = append(all, p.paths(name)...)
	}
	slices.Sort(all)
	return all
}

func (s schema) paths(at string) []string {
	var all []string
	if s.Items != nil {
		for name := range s.Items.Properties {
			all = append(all, at+"[]."+name)
		}
	}
	if len(s.Properties) == 0 {
		return append(all, at)
	}
	for name, p := range s.Properties {
		all = append(all, p.paths(at+"."+name)...)
	}
	return all
}

// leaves are the paths of values that hold no others.
func leaves(at string, value any) []string {
	table, ok := value.(map[string]any)
	if !ok || len(table) == 0 {
		return []string{strings.TrimPrefix(at, ".")}
	}
	var all []string
	for key, value := range table {
		all = append(all, leaves(at+"."+key, value)...)
	}
	return all
}
