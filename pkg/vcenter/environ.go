package vcenter

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
)

// FromEnvironment reads the one vCenter that govc would talk to, from GOVC_URL, GOVC_USERNAME, GOVC_PASSWORD,
// GOVC_INSECURE, GOVC_TLS_CA_CERTS, GOVC_TLS_KNOWN_HOSTS and GOVC_DATACENTER. environ is as os.Environ has it. All that is
// wrong is told at once, by variable.
func FromEnvironment(environ []string) (*Config, error) {
	vars := map[string]string{}
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok {
			vars[name] = value
		}
	}
	v := VCenter{Port: 443, govc: true}
	errs := []error{v.setURL(vars["GOVC_URL"])}
	if user := vars["GOVC_USERNAME"]; user != "" {
		v.User = user
	}
	if password := vars["GOVC_PASSWORD"]; password != "" {
		v.password = password
	}
	if v.User == "" {
		errs = append(errs, errors.New("environment: GOVC_USERNAME: is not set"))
	}
	if v.password == "" {
		errs = append(errs, errors.New("environment: GOVC_PASSWORD: is not set"))
	}
	if text := vars["GOVC_INSECURE"]; text != "" {
		insecure, err := strconv.ParseBool(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("environment: GOVC_INSECURE: must be true or false, not %q", text))
		}
		v.Insecure = insecure
	}
	if dc := vars["GOVC_DATACENTER"]; dc != "" {
		v.Datacenters = []string{dc}
	}
	errs = append(errs, v.setAuthorities(vars["GOVC_TLS_CA_CERTS"]), v.setKnownHosts(vars["GOVC_TLS_KNOWN_HOSTS"]))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &Config{VCenters: []VCenter{v}, Region: DefaultRegion, Zone: DefaultZone}, nil
}

// setURL takes what govc takes: a host, with or without scheme, port, user and path. Errors do not hold the text, which
// may hold a password.
func (v *VCenter) setURL(text string) error {
	if text == "" {
		return errors.New("environment: GOVC_URL: is not set")
	}
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("environment: GOVC_URL: is no URL: write it as https://HOST, with characters of a password escaped or in GOVC_PASSWORD")
	case u.Scheme != "https":
		return fmt.Errorf("environment: GOVC_URL: scheme is %s: a vCenter is spoken to by https", u.Scheme)
	case u.Hostname() == "":
		return errors.New("environment: GOVC_URL: names no host")
	case u.Path != "" && u.Path != "/" && u.Path != "/sdk", u.RawQuery != "", u.Fragment != "":
		// What stands there may be the end of a password with a slash, ? or # in it.
		return errors.New("environment: GOVC_URL: path is not /sdk, or something is behind it: write it as https://HOST/sdk, with characters of a password escaped or in GOVC_PASSWORD")
	}
	v.Name, v.Server, v.User = u.Hostname(), u.Hostname(), u.User.Username()
	v.password, _ = u.User.Password()
	if port := u.Port(); port != "" {
		if v.Port, err = strconv.Atoi(port); err != nil || v.Port < 1 || v.Port > 65535 {
			return errors.New("environment: GOVC_URL: port is not from 1 to 65535")
		}
	}
	return nil
}

// setAuthorities reads the files of a list.
func (v *VCenter) setAuthorities(list string) error {
	for _, file := range filepath.SplitList(list) {
		data, err := input.File(file, input.MaxFile)
		if err != nil {
			return fmt.Errorf("environment: GOVC_TLS_CA_CERTS: %w", err)
		}
		v.Authorities = append(append(v.Authorities, data...), '\n')
	}
	return nil
}
