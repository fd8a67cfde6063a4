package up

import "github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/home"

// explainState gives the errors of making the instance directory, and of the first files in it, their codes and ways
// out.
func explainState(o *options, err error) error { return home.ExplainState(err, o.name, o.verb()) }

// explainRun does so for the errors that a sandbox ends with, nil among them.
func explainRun(o *options, err error) error { return home.ExplainRun(err, o.name, o.freePort()) }

// verb is the command that was typed.
func (o *options) verb() string {
	if o.alone != nil {
		return "vcenter up"
	}
	return "up"
}

func (o *options) freePort() string {
	flag := "--api-port 0"
	if o.alone != nil {
		flag = "--listen 127.0.0.1:0"
	}
	return "vsphere-sandbox " + o.verb() + " " + flag + "   # any free one"
}
