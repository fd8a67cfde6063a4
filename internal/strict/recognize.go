package strict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Use is what a file is for.
type Use string

// The uses that [Recognize] knows.
const (
	UseUnknown     Use = ""
	UseTopology    Use = "topology"
	UseScenario    Use = "scenario"
	UseCloudConfig Use = "cloud config"
	UseKubernetes  Use = "manifest"
	UseInstaller   Use = "installer" // the configuration of a program that makes clusters
)

// iniSection is the beginning of a vsphere.conf in INI: a section that the cloud provider or the CSI driver reads.
var iniSection = regexp.MustCompile(`(?im)^\s*\[\s*(Global|Workspace|Labels|Disk|Network|Nodes|Snapshot|LoadBalancer|(VirtualCenter|NetPermissions|LoadBalancerClass)\s+"[^"]*")\s*\]\s*([#;].*)?$`)

// iniCluster is a key that only the configuration of the CSI driver has.
var iniCluster = regexp.MustCompile(`(?im)^\s*cluster-(id|distribution)\s*=`)

// ownVersion is the group of all kinds of files of this program.
const ownVersion = "sandbox.vsphere/"

// Recognize returns what a file is, for a message about a file that was given in place of another: "a Kubernetes ConfigMap with a
// vsphere.conf". It returns "" for a file that it does not know. It looks at the kinds and keys, not at the values.
func Recognize(data []byte) (use Use, what string) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var kinds []string
	for range maxDocuments {
		var document yaml.Node
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			break
		} else if err != nil || len(document.Content) == 0 {
			return recognizeINI(data)
		}
		root := document.Content[0]
		if root.Kind != yaml.MappingNode {
			continue
		}
		use, what := recognizeMapping(root)
		if use != UseKubernetes && len(kinds) == 0 {
			return use, what
		}
		if use == UseKubernetes && !slices.Contains(kinds, what) {
			kinds = append(kinds, what)
		}
	}
	switch len(kinds) {
	case 0:
		return recognizeINI(data)
	case 1:
		return UseKubernetes, "a Kubernetes " + kinds[0]
	}
	return UseKubernetes, "a Kubernetes manifest: " + strings.Join(kinds, ", ")
}

// recognizeINI returns the use of a file that is no mapping of YAML. The values of a manifest may have sections, too.
func recognizeINI(data []byte) (use Use, what string) {
	switch {
	case !iniSection.Match(data):
		return UseUnknown, ""
	case iniCluster.Match(data):
		return UseCloudConfig, "a csi-vsphere.conf, the configuration of the CSI driver"
	}
	return UseCloudConfig, "a vsphere.conf in INI"
}

// maxDocuments is how many documents of a manifest are named.
const maxDocuments = 6

// own are the kinds of files of this program.
var own = map[string]Use{"Topology": UseTopology, "Scenario": UseScenario}

// recognizeMapping returns the use of a document. For a Kubernetes object, what is its kind.
func recognizeMapping(root *yaml.Node) (use Use, what string) {
	text := func(key string) string {
		_, node := Find(root, key)
		if node == nil || node.Kind != yaml.ScalarNode {
			return ""
		}
		return node.Value
	}
	has := func(keys ...string) bool {
		return !slices.ContainsFunc(keys, func(key string) bool { k, _ := Find(root, key); return k == nil })
	}
	version, kind := text("apiVersion"), text("kind")
	switch {
	case strings.HasPrefix(version, ownVersion) || strings.HasPrefix(version, "vsphere-sandbox/"):
		return own[kind], "a " + string(own[kind])
	case version != "" && kind != "" && own[kind] == UseUnknown:
		return UseKubernetes, Cut(kind) + inside(root, kind)
	case has("vcenter") && (has("global") || has("labels")):
		return UseCloudConfig, "a vsphere.conf in YAML"
	case has("cloud_provider"), has("rancher_kubernetes_engine_config"):
		return UseInstaller, "a cluster.yml of RKE"
	case has("config") && (has("daemonset") || has("podSecurityPolicy") || below(root, "config", "vcenter")), below(root, "global", "config"):
		return UseInstaller, "a file of Helm values for the vsphere-cpi chart"
	case has("vCenter") && (has("cloudControllerManager") || has("storageClass") || has("csiController")):
		return UseInstaller, "a file of Helm values for a vSphere chart"
	}
	return UseUnknown, ""
}

// below reports whether a mapping has a key in the mapping of another key.
func below(root *yaml.Node, key, inner string) bool {
	_, node := Find(root, key)
	found, _ := Find(node, inner)
	return found != nil
}

// inside names the keys of a ConfigMap or Secret that hold a cloud config or the credentials of a vCenter.
func inside(root *yaml.Node, kind string) string {
	if kind != "ConfigMap" && kind != "Secret" {
		return ""
	}
	var files []string
	for _, field := range []string{"data", "stringData", "binaryData"} {
		_, node := Find(root, field)
		if node == nil || node.Kind != yaml.MappingNode {
			continue
		}
		for i := 0; i < len(node.Content); i += 2 {
			key, value := node.Content[i].Value, node.Content[i+1]
			if strings.HasSuffix(key, ".username") {
				return " with the credentials of a vCenter"
			}
			use, _ := Recognize([]byte(value.Value))
			if strings.HasSuffix(key, ".conf") || use == UseCloudConfig {
				files = append(files, key)
			}
		}
	}
	if len(files) == 0 {
		return ""
	}
	if strings.HasSuffix(files[0], ".conf") {
		return fmt.Sprintf(" with a %s in it", Cut(files[0]))
	}
	return " with a vsphere.conf in its key " + Cut(files[0])
}

// Encoding returns what keeps a text from being UTF-8, and what to do about it; "" for UTF-8. Editors of Windows, and > of its
// PowerShell, write UTF-16.
func Encoding(data []byte) (problem, hint string) {
	wide := func(zero int) bool { return len(data) > 3 && data[zero] == 0 && data[zero+2] == 0 }
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}), bytes.HasPrefix(data, []byte{0xfe, 0xff}), wide(0), wide(1):
		return "is UTF-16 text", "save it as UTF-8"
	case !utf8.Valid(data):
		return "is not UTF-8 text", ""
	}
	return "", ""
}

// foreign reports a file that is for something else than the language of the reader.
func (r *Reader) foreign(data []byte) bool {
	use, what := Recognize(data)
	if use == UseUnknown || string(use) == r.lang.Noun {
		return false
	}
	r.text(1, 1, "is %s, not a %s", what, r.lang.Noun)
	return true
}
