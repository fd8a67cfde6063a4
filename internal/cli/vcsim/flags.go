package vcsim

import (
	"crypto/tls"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
)

// Flags are the flags of vcsim about the inventory and its front, which "vcenter up" has too. Those about the listener, the login,
// the variables and a saved inventory belong to each command. [New] returns vcsim's defaults.
type Flags struct {
	counts []count

	Autostart   bool
	ESX         bool
	StdinExit   bool
	apiVersion  string
	tls         bool
	cert, key   string
	tunnel      int
	trace       bool
	traceFile   string
	delay       int
	methodDelay string
	jitter      float64
}

// New returns the flags with vcsim's defaults.
func New() *Flags { return &Flags{counts: counts(), Autostart: true, tls: true, tunnel: -1} }

// Set is a set of flags: of package flag, or of pflag.
type Set interface {
	IntVar(p *int, name string, value int, usage string)
	BoolVar(p *bool, name string, value bool, usage string)
	StringVar(p *string, name, value, usage string)
	Float64Var(p *float64, name string, value float64, usage string)
}

// Bind adds the flags to a set.
func (f *Flags) Bind(s Set) {
	for _, c := range f.counts {
		s.IntVar(c.n, c.name, *c.n, "number of "+c.usage)
	}
	s.BoolVar(&f.Autostart, "autostart", f.Autostart, "power the VMs on")
	s.BoolVar(&f.ESX, "esx", false, "run a standalone ESX host in place of a vCenter")
	s.StringVar(&f.apiVersion, "api-version", "", "report another `VERSION` of the API")
	s.BoolVar(&f.tls, "tls", true, "serve HTTPS; false: HTTP")
	s.StringVar(&f.cert, "tlscert", "", "`FILE` with the certificate to show")
	s.StringVar(&f.key, "tlskey", "", "`FILE` with the key of --tlscert")
	s.IntVar(&f.tunnel, "tunnel", -1, "`PORT` of an HTTP proxy to the API; 0: any, -1: none")
	s.BoolVar(&f.trace, "trace", false, "write SOAP calls to standard error, without passwords")
	s.StringVar(&f.traceFile, "trace-file", "", "write SOAP calls to `FILE`")
	s.BoolVar(&f.StdinExit, "stdinexit", false, "end when standard input has a key or ends")
	s.IntVar(&f.delay, "delay", 0, "delay each SOAP call by `MILLISECONDS`")
	s.StringVar(&f.methodDelay, "method-delay", "", "delays of methods: `METHOD:MILLISECONDS,...`")
	s.Float64Var(&f.jitter, "delay-jitter", 0, "variation of delays, as a part of the delay")
}

// Plain reports whether the flags ask for HTTP in place of HTTPS.
func (f *Flags) Plain() bool { return !f.tls }

// Names returns the names of the flags.
func Names() []string {
	names := []string{
		"autostart", "esx", "api-version", "tls", "tlscert", "tlskey", "tunnel", "trace", "trace-file", "stdinexit", "delay",
		"method-delay", "delay-jitter",
	}
	for _, c := range counts() {
		names = append(names, c.name)
	}
	return names
}

// IsInventory reports whether a flag says what the inventory has, which a topology and a saved inventory say, too.
func IsInventory(name string) bool {
	return name == "autostart" || slices.ContainsFunc(counts(), func(c count) bool { return c.name == name })
}

// Front returns the options of the simulation. stderr gets a trace without a file. Close the trace's file with the closer.
func (f *Flags) Front(stderr io.Writer) (o sim.Vcsim, closer func() error, err error) {
	closer = func() error { return nil }
	o = sim.Vcsim{
		Pods: f.of("pod"), NSXPortGroups: f.of("pg-nsx"), OpaqueNetworks: f.of("nsx"), Folders: min(f.of("folder"), f.of("dc")),
		APIVersion: f.apiVersion, PlainHTTP: !f.tls, Delay: time.Duration(f.delay) * time.Millisecond, Jitter: f.jitter,
	}
	if f.delay < 0 || f.jitter < 0 || f.jitter > 1 {
		return o, closer, report.UsageError("--delay 100 --delay-jitter 0.5", "--delay %d --delay-jitter %g: want 0 or more, and a jitter from 0 to 1", f.delay, f.jitter)
	}
	if o.MethodDelay, err = methodDelays(f.methodDelay); err != nil {
		return o, closer, err
	}
	if f.tunnel >= 0 {
		o.Tunnel = &f.tunnel
	}
	if (f.cert == "") != (f.key == "") {
		return o, closer, report.UsageError("--tlscert cert.pem --tlskey key.pem", "--tlscert and --tlskey need each other")
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return o, closer, &report.Error{Code: "certificate-unreadable", Message: "--tlscert: " + err.Error(), Try: "--tlscert FILE --tlskey FILE, both in PEM", Exit: report.Usage}
		}
		o.Certificate = &pair
	}
	switch {
	case f.traceFile != "":
		file, err := os.OpenFile(f.traceFile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return o, closer, &report.Error{Code: "trace-unwritable", Message: "--trace-file: " + err.Error(), Try: "--trace-file FILE in a folder that you can write to", Exit: report.Prerequisite}
		}
		o.Trace, closer = file, file.Close
	case f.trace:
		o.Trace = stderr
	}
	return o, closer, nil
}

// methodDelays parses "PowerOnVM_Task:100,CreateVM_Task:50".
func methodDelays(text string) (map[string]time.Duration, error) {
	if text == "" {
		return nil, nil
	}
	all := map[string]time.Duration{}
	for one := range strings.SplitSeq(text, ",") {
		method, ms, _ := strings.Cut(strings.TrimSpace(one), ":")
		n, err := strconv.Atoi(ms)
		if method == "" || err != nil || n < 0 {
			return nil, report.UsageError("--method-delay PowerOnVM_Task:100,CreateVM_Task:50", "--method-delay %s: want METHOD:MILLISECONDS", one)
		}
		all[method] = time.Duration(n) * time.Millisecond
	}
	return all, nil
}
