package migrate

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
	csi "github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// MaxSize is that of a file, in bytes: far beyond any real one.
const MaxSize = 1 << 20

// Refusal is the error for a file that is not one to convert.
type Refusal struct {
	// Code is a stable kebab-case id.
	Code string
	// Message is one sentence, and Try what to do about it.
	Message, Try string
	// Problems are what is wrong with the file as what it is.
	Problems []config.Problem
}

// Error returns the message, and the problems, one a line.
func (r *Refusal) Error() string {
	lines := []string{r.Message}
	for _, p := range r.Problems {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// sectionHeader is that of a section that only a vsphere.conf has, wherever in a file.
var sectionHeader = regexp.MustCompile(`(?mi)^\s*\[\s*(global|virtualcenter|workspace|labels|nodes)\b`)

// newSection is one of a vsphere.conf in YAML, where it cannot be read as a whole.
var newSection = regexp.MustCompile(`(?m)^(global|vcenter|labels|nodes):`)

// open returns the text of an old file in one form: UTF-8 without a mark before it, and lines that end in a newline.
func open(old Source) ([]byte, error) {
	data := old.Data
	if len(data) > MaxSize {
		return nil, problem(old.Name, fmt.Sprintf("is longer than the %s a cloud config may have", input.Size(MaxSize)), "")
	}
	if what, hint := strict.Encoding(data); what != "" {
		return nil, problem(old.Name, "file "+what, hint)
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if !bytes.ContainsRune(data, '\n') && bytes.ContainsRune(data, '\r') {
		return nil, problem(old.Name, "file has carriage returns and no newline: it is one line", "save it with the line ends of Unix or Windows")
	}
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	switch {
	case saysNone(data):
		return nil, &Refusal{
			Code: "cloud-config-empty", Message: old.Name + " says nothing: it is empty, or all of it is comments", Try: giveConf,
		}
	case config.LooksLikeINI(data):
		return data, notDriver(old.Name, data)
	}
	return nil, notINI(old.Name, data)
}

const giveConf = "give the vsphere.conf that --cloud-config names"

// saysNone is whether every line is empty or a comment.
func saysNone(data []byte) bool {
	for line := range bytes.Lines(data) {
		if !isSilent(line) {
			return false
		}
	}
	return true
}

// isSilent is whether a line is empty or a comment.
func isSilent(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 || isComment(line) }

func isComment(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && (line[0] == '#' || line[0] == ';')
}

// problem is the error of a file as a whole.
func problem(file, message, hint string) error {
	return &config.Error{Problems: []config.Problem{{File: file, Message: message, Hint: hint}}}
}

// notDriver refuses a csi-vsphere.conf.
func notDriver(name string, data []byte) error {
	sections, _ := config.ReadINI(name, data)
	driver := strings.HasPrefix(filepath.Base(name), "csi-")
	for _, s := range sections {
		switch strings.ToLower(s.Name) {
		case "snapshot", "topologycategory", "netpermissions", "gc":
			driver = true
		case "workspace", "disk", "network", "nodes":
			return nil
		case "labels":
			for _, e := range s.Entries {
				driver = driver || strings.EqualFold(e.Key, "topology-categories")
			}
		}
	}
	if !driver {
		return nil
	}
	_, problems := csi.Check(name, data, csi.ReadOptions{Format: csi.CSI, ClusterID: "any"})
	return &Refusal{
		Code: "csi-config", Message: name + " is the CSI driver's csi-vsphere.conf, which is of use as it is: there is nothing to migrate",
		Try: "give the vsphere.conf of the cloud provider", Problems: errorsOf(problems),
	}
}

// mostNodes and mostRepeated, of keys, are more than a vsphere.conf in YAML has. The YAML library compares every key with
// every other, and makes an error of each two that are the same: noise would fill the memory.
const (
	mostNodes    = 20_000
	mostRepeated = 100
)

// notINI says what a file is that is not of the old form.
func notINI(name string, data []byte) error {
	var doc yaml.Node
	budget := mostNodes
	if err := yaml.Unmarshal(data, &doc); err == nil {
		_ = plain(&doc, &budget)
	} else if newSection.Match(data) {
		_, problems := config.Check(name, data)
		return newForm(name, problems)
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode || budget < 0 || repeated(&doc) > mostRepeated {
		if sectionHeader.Match(data) { // something stands before the first section
			if _, problems := config.ReadINI(name, data); len(problems) > 0 {
				return &config.Error{Problems: problems[:min(len(problems), mostProblems)]}
			}
		}
		return &Refusal{
			Code: "not-a-cloud-config", Message: name + " is neither an old vsphere.conf, which begins with a [section], nor a new one",
			Try: giveConf,
		}
	}
	switch use, what := strict.Recognize(data); {
	case use == strict.UseKubernetes && strings.Contains(what, "ConfigMap"):
		return &Refusal{
			Code: "not-a-cloud-config", Message: fmt.Sprintf("%s is %s, not a vsphere.conf", name, what),
			Try: `kubectl get configmap NAME --namespace kube-system -o jsonpath='{.data.vsphere\.conf}' > vsphere.conf`,
		}
	case use == strict.UseKubernetes:
		return &Refusal{
			Code: "not-a-cloud-config", Message: fmt.Sprintf("%s is %s, not a vsphere.conf", name, what),
			Try: "name manifests with --manifests, beside the vsphere.conf",
		}
	case use != strict.UseUnknown && use != strict.UseCloudConfig:
		return &Refusal{Code: "not-a-cloud-config", Message: fmt.Sprintf("%s is %s, not a vsphere.conf", name, what), Try: giveConf}
	}
	_, problems := config.Check(name, data)
	return newForm(name, problems)
}

// newForm refuses a vsphere.conf in YAML.
func newForm(name string, problems []config.Problem) error {
	r := &Refusal{Code: "already-migrated", Problems: errorsOf(problems)}
	if len(r.Problems) > 0 {
		r.Message = name + " is YAML, the new form, and cannot be used: there is nothing to migrate, but something to mend"
		return r
	}
	r.Message = name + " is YAML already, the new form, and can be used: there is nothing to migrate"
	return r
}

// errorsOf are the problems that are more than warnings.
func errorsOf(all []config.Problem) []config.Problem {
	var errs []config.Problem
	for _, p := range all {
		if !p.Warning {
			errs = append(errs, p)
		}
	}
	return errs
}
