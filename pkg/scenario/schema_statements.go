package scenario

import (
	"maps"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// statementSchema is a statement, or a list of them that are true at once.
func statementSchema() object {
	return object{"anyOf": []any{ref("one"), listOf(ref("one"))}}
}

func statementSchemas() []any {
	var all []any
	for _, kind := range world.Kinds() {
		all = append(all, rowsSchema(kind))
	}
	count := func(what string) object { return described(what, scalar()) }
	since := described("Where counting begins: start, step, or the name of a step.", text())
	order := object{"type": "array", "minItems": 2, "items": ref("event")}
	return append(all,
		closed("That something happened, or how often.", object{"event": ref("event")}, "event"),
		closed("That things happened in this order.", object{"events": object{"anyOf": []any{
			order, closed("", object{"order": order, "caused": described("Each because of the one before.", scalar()), "since": since}, "order"),
		}}}, "events"),
		closed("How many calls vCenters got.", object{"calls": closed("", object{
			"vcenter": text(), "client": described("ccm, csi, govc, sandbox, or a part of a User-Agent.", text()), "method": oneOrMore(),
			"count": count(`How many: 3, ">= 2".`), "errors": count("How many of them failed."), "since": since,
		})}, "calls"),
		closed("That a log has a line, or how many.", object{"log": closed("", object{
			"component": text(), "matches": described("A regular expression found in the line.", text()), "count": count(`How many: 3, ">= 2".`), "since": since,
		}, "component", "matches")}, "log"),
		closed("What a metric is.", object{"metric": closed("", object{
			"component": text(), "name": text(), "labels": mapOf(scalar()), "value": count(`The sum of its series: 3, ">= 2".`), "since": since,
		}, "component", "name", "value")}, "metric"),
		closed("All of these at once.", object{"all": listOf(ref("one"))}, "all"),
		closed("One of these.", object{"any": listOf(ref("one"))}, "any"),
	)
}

// rowsSchema is a statement about things of a kind.
func rowsSchema(kind world.Kind) object {
	fields := object{}
	for _, f := range kind.Fields() {
		fields[f.Name] = ref("value")
	}
	whole := object{"exists": scalar(), "count": described(`How many: 3, ">= 2"; all of them, when it is left out.`, scalar())}
	maps.Copy(whole, fields)
	if kind == world.Node {
		whole["noTaints"] = described("Taints that it must not have.", oneOrMore())
	}
	whole[string(kind)] = object{
		"description": "A name, names, all, or fields to choose by.", "anyOf": []any{oneOrMore(), closed("", fields)},
	}
	return closed("", whole, string(kind))
}

// valueSchema is what a field has to be.
func valueSchema() object {
	one := object{"type": []string{"string", "number", "boolean", "null"}}
	return object{
		"description": `A text (* and ? are wildcards, /…/ a regular expression), a number or ">= 2", a list, or not: VALUE.`,
		"anyOf":       []any{one, listOf(one), object{"type": "object"}},
	}
}

func eventSchema() object {
	return closed("An event of the sandbox's log.", object{
		"kind": described("A pattern: node.deleted, vm.*", text()), "object": described("What it is about: worker-1, us/worker-1.", scalar()), "vcenter": text(),
		"plane":   object{"enum": []string{string(event.PlaneSandbox), string(event.PlaneVSphere), string(event.PlaneKubernetes)}},
		"level":   object{"enum": []string{string(event.Info), string(event.Warning), string(event.Error)}},
		"message": described("A regular expression found in its message.", text()),
		"cause":   object{"description": "The name of a step, a kind of event, or an event among its causes.", "anyOf": []any{text(), ref("event")}},
		"count":   described(`How many: 3, ">= 2"; at least one, when it is left out.`, scalar()), "since": described("Where counting begins: start, step, or the name of a step.", text()),
	})
}
