package sandbox

import (
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/why"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// sources are whom an explanation is gathered from; subject is the name that the CCM's log is searched for.
func (s *Sandbox) sources(subject string) why.Sources {
	src := why.Sources{Around: why.Around{Now: time.Now(), Grace: s.grace(), Others: s.facts.Nodes == api.NodesReal}}
	src.Around.Events, _ = s.log.Read(0, 0)
	if e := s.engine(); e != nil {
		src.Around.Leases = leaseRows(e.Leases())
	}
	for _, vc := range s.vcenters {
		src.Inventories = append(src.Inventories, asking{vc, s})
		src.Around.VCenters = append(src.Around.VCenters, why.VCenter{VCenter: s.vcenterRow(vc), Server: vc.Host(), Calls: callsOfCCM(vc.Gate())})
	}
	if client := s.clientset(); client != nil {
		src.Cluster = askedCluster{client}
		s.aroundCCM(&src.Around, subject)
	}
	return src
}

// clientset is nil as long as there is no cluster.
func (s *Sandbox) clientset() kubernetes.Interface {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster == nil {
		return nil
	}
	return s.cluster.Client()
}

// aroundCCM adds how the cloud controller manager is, which is asked every second, and what it is configured with.
func (s *Sandbox) aroundCCM(a *why.Around, subject string) {
	for _, r := range s.ccms.all() {
		if w := s.wires.find(r.name); w != nil && w.IsCut() {
			a.CCMCut = true
		}
	}
	for _, row := range s.componentRows() {
		if s.ccms.find(row.Name) != nil {
			a.CCM = append(a.CCM, row)
			if row.Leader || len(a.CCMLog) == 0 {
				a.CCMLog = linesAbout(tail(s.opts.Dir.Log(row.Name), 0), subject)
			}
		}
	}
	s.ccms.mu.Lock()
	a.Relabels = slices.ContainsFunc(s.ccms.runs.Args, func(arg string) bool {
		return arg == "--relabel-zones" || arg == "--relabel-zones=true"
	})
	s.ccms.mu.Unlock()
	if a.Config.Is, a.Config.Err = config.LoadFile(s.cloudConfigFile()); s.facts.ReadOnly {
		a.Config.Is, a.Config.Err = s.wouldConfig()
	}
	if a.Config.Is != nil {
		a.Config.Is = a.Config.Is.Masked()
	}
}

// wouldConfig is what a cloud controller manager of the sandbox's would be configured with: how that of the cluster is, if it has
// one, is not looked for.
func (s *Sandbox) wouldConfig() (*config.Config, error) {
	conf, err := s.cloudConfig(s.ownPlace())
	if err != nil {
		return nil, err
	}
	return config.Load(cloudConfigKey, conf)
}

// linesAbout are the last lines of a log that name something.
func linesAbout(log, name string) (lines []string) {
	const most = 5
	for _, line := range slices.Backward(strings.Split(log, "\n")) {
		if strings.Contains(line, `"`+name+`"`) || strings.Contains(line, " "+name+" ") {
			if _, text, ok := strings.Cut(line, "] "); ok { // klog's header says when and where in the source
				line = text
			}
			if lines = append(lines, line); len(lines) == most {
				break
			}
		}
	}
	slices.Reverse(lines)
	return lines
}

// callsOfCCM are the last calls that cloud controller managers made, ours and others.
func callsOfCCM(g *gate.Gate) (list []why.Call) {
	for _, c := range g.Recent() {
		if !strings.Contains(c.Client, "cloud") {
			continue
		}
		call := why.Call{Time: c.Start, Method: c.Method, Answer: "ok", Failed: c.Failed(), Duration: c.Duration}
		if call.Failed {
			call.Answer = c.Failure()
		}
		list = append(list, call)
	}
	slices.SortFunc(list, func(a, b why.Call) int { return a.Time.Compare(b.Time) })
	return list
}

// componentRow finds a component by its name.
func (s *Sandbox) componentRow(name string) *api.Component {
	rows := s.componentRows()
	if i := slices.IndexFunc(rows, func(c api.Component) bool { return c.Name == name }); i >= 0 {
		return &rows[i]
	}
	return nil
}
