package provider

import (
	"context"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// origin is where a vCenter's credentials come from: a Secret, a directory, or the configuration itself.
type origin struct {
	secret         config.SecretRef
	directory      string
	user, password string
}

func originOf(vc config.VCenter) origin {
	switch {
	case vc.SecretsDirectory != "":
		return origin{directory: vc.SecretsDirectory}
	case vc.Secret != (config.SecretRef{}):
		return origin{secret: vc.Secret}
	}
	return origin{user: vc.User, password: vc.Password}
}

// credentials returns what to log in with at this moment.
func (p *Provider) credentials(ctx context.Context, vc config.VCenter) (vcenter.Credentials, error) {
	o := originOf(vc)
	switch {
	case o.directory != "":
		return plain(p.dirs.credentials(o.directory, vc.Server))
	case o.secret != (config.SecretRef{}):
		return p.secrets.credentials(ctx, o.secret, vc.Server)
	}
	return vcenter.Credentials{User: o.user, Password: o.password}, nil
}

// want has the place of a vCenter's credentials followed.
func (p *Provider) want(vc config.VCenter) {
	switch o := originOf(vc); {
	case o.directory != "":
		p.dirs.want(o.directory)
	case o.secret != (config.SecretRef{}):
		p.secrets.want(o.secret)
	}
}

// keep ends the following of places that no generation has credentials in any more.
func (p *Provider) keep(generations ...*generation) {
	secrets, dirs := map[config.SecretRef]bool{}, map[string]bool{}
	for _, g := range generations {
		for _, vc := range g.cfg.VCenters {
			secrets[originOf(vc).secret] = true
			dirs[originOf(vc).directory] = true
		}
	}
	p.secrets.keep(secrets)
	p.dirs.keep(dirs)
}

// originChanged wakes the connections whose credentials are there, also those that are not in force yet.
func (p *Provider) originChanged(o origin) {
	inForce, seen := p.now(), map[*connection]bool{}
	for _, g := range []*generation{inForce, p.next.Load()} {
		if g == nil {
			continue
		}
		for _, vc := range g.cfg.VCenters {
			c := g.clients[vc.Tenant]
			if originOf(vc) != o || seen[c] {
				continue
			}
			seen[c] = true
			c.CredentialsChanged()
			// A client that is connected keeps its session, and has nothing to say about credentials that are not there.
			if g == inForce {
				p.events.credentials(vc, c.State().Connected, p.lacking(vc))
			}
		}
	}
}

// lacking says why there are no credentials at this moment, without waiting for any.
func (p *Provider) lacking(vc config.VCenter) error {
	var err error
	switch o := originOf(vc); {
	case o.directory != "":
		_, err = p.dirs.credentials(o.directory, vc.Server)
	case o.secret != (config.SecretRef{}):
		_, err = p.secrets.now(o.secret, vc.Server)
	}
	return err
}

// plain are credentials for a login, or for a session manager that has one to share.
func plain(c config.Credentials, err error) (vcenter.Credentials, error) {
	if err != nil {
		return vcenter.Credentials{}, err
	}
	return vcenter.Credentials(c), nil
}
