package scenario

import (
	"bytes"
	"encoding/json"
	"maps"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/catalogue"
)

// Schema returns the JSON schema (draft 7) of scenario files, for editors: every key with its description, the known faults, and
// the fields of objects. It accepts every file that [Load] accepts; [Load] also checks names.
func Schema() []byte {
	steps := map[string]any{}
	for _, a := range actions() {
		maps.Copy(steps, stepKeys(a))
	}
	whole := object{
		"$schema": "http://json-schema.org/draft-07/schema#", "title": "vsphere-sandbox scenario",
		"description": "A topology, steps that break it, and expectations of what happens then.",
		"type":        "object", "additionalProperties": false,
		"required": []string{"apiVersion", "kind", "metadata", "topology", "steps"},
		"properties": object{
			"apiVersion": object{"const": APIVersion},
			"kind":       object{"const": Kind},
			"metadata": closed("", object{
				"name":        object{"type": "string", "pattern": scenarioName.String(), "description": "Lower-case letters, digits and hyphens."},
				"description": described("One line.", text()),
				"labels":      described("For selection: suite: core.", mapOf(scalar())),
			}, "name"),
			"reported": described("Issues that report the problem: cloud-provider-vsphere#642.", listOf(text())),
			"expected": described("What must happen, for people.", text()),
			"fails": described("Cloud controller managers and CSI drivers that are known to fail it.", listOf(closed("", object{
				"ccm":       described("The source of a cloud controller manager, or versions of upstream: module:v1.36.0, >=v1.34.0 <v1.38.0.", text()),
				"csi":       described("The same of a CSI driver: module:v3.7.0, >=v3.6.0.", text()),
				"why":       described("The defect, for people.", text()),
				"issue":     described("The report of the defect: cloud-provider-vsphere#642.", text()),
				"sometimes": described("A part of the failure's message, for a defect that does not show each time.", text()),
			}, "why"))),
			"must":       described("A release may not fail it, even if the release before did.", scalar()),
			"parameters": described("Values that are chosen for a run, used as ${name} in any value.", listOf(parameterSchema())),
			"topology": object{
				"description": "The topology: a name in the catalogue, a file, or inline.",
				"anyOf": []any{
					text(), closed("", object{"use": text(), "parameters": mapOf(scalar())}, "use"),
					object{"type": "object", "required": []string{"spec"}},
				},
			},
			"components": closed("How the parts of the sandbox start.", object{
				"speed":        described("The factor by which the cluster is faster than upstream's defaults.", scalar()),
				"kubernetes":   described("The release of an embedded cluster: v1.36.", text()),
				"csi":          described("The CSI driver: builtin or off.", text()),
				"csiReplicas":  described("The number of its controllers; several elect leaders.", scalar()),
				"loadbalancer": described("What serves Services of type LoadBalancer: simple, nsx or none.", text()),
				"ccm": closed("", object{
					"source":   described("The origin of the program: builtin, module:v1.36.0.", text()),
					"replicas": described("The number of instances; several elect a leader.", scalar()),
					"args":     described("Further flags.", listOf(text())), "env": described("Further environment.", mapOf(scalar())),
				}),
			}),
			"steps": object{"type": "array", "minItems": 1, "maxItems": MaxSteps, "items": object{"$ref": "#/definitions/step"}},
		},
		"definitions": object{
			"step":      closed("One action.", steps),
			"duration":  object{"type": "string", "pattern": `^([0-9.]+(ns|us|µs|μs|ms|s|m|h))+( ?/ ?speed)?$|\$\{`, "description": "10s of real time, or 40s/speed: forty seconds of a cluster with upstream's defaults."},
			"statement": statementSchema(),
			"one":       object{"anyOf": statementSchemas()},
			"value":     valueSchema(),
			"event":     eventSchema(),
		},
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(whole); err != nil {
		return nil // plain data never fails
	}
	return b.Bytes()
}

// object is a JSON object.
type object = map[string]any

func text() object   { return object{"type": "string"} }
func scalar() object { return object{"type": []string{"string", "number", "boolean"}} }

func listOf(items any) object { return object{"type": "array", "items": items} }

func mapOf(values any) object { return object{"type": "object", "additionalProperties": values} }

func ref(name string) object { return object{"$ref": "#/definitions/" + name} }

func oneOrMore() object { return object{"anyOf": []any{scalar(), listOf(scalar())}} }

func described(what string, schema object) object {
	if _, refers := schema["$ref"]; refers { // other keys beside it are ignored
		schema = object{"allOf": []any{schema}}
	}
	schema["description"] = what
	return schema
}

// closed returns a mapping with these keys and no others.
func closed(what string, properties object, required ...string) object {
	made := object{"type": "object", "additionalProperties": false, "properties": properties}
	if what != "" {
		made["description"] = what
	}
	if len(required) > 0 {
		made["required"] = required
	}
	return made
}

func parameterSchema() object {
	return closed("", object{
		"name": text(), "description": text(), "default": scalar(), "allowed": listOf(scalar()),
		"type": object{"enum": []string{"string", "int", "bool", "size"}},
	}, "name")
}

// stepKeys returns the keys of a step for an action, including those of all actions.
func stepKeys(a Action) object {
	keys := object{
		"note": described("What the step is about.", text()), "as": described("A name for the step: for heal, since, until and cause.", text()),
		"after": described("A pause before the step.", ref("duration")), "at": described("The earliest time, from the beginning of the scenario.", ref("duration")),
	}
	switch a {
	case ActionInject:
		keys["inject"] = object{"description": "A fault.", "anyOf": []any{object{"enum": catalogue.Names()}, object{"type": "string", "pattern": `\$\{`}}}
		on := object{}
		for _, key := range onKeys() {
			on[key] = oneOrMore()
		}
		on["labels"] = object{"anyOf": []any{text(), mapOf(scalar())}}
		keys["on"] = object{"description": "The targets.", "anyOf": []any{closed("", on), oneOrMore()}}
		keys["with"] = described("Parameters of the fault.", mapOf(scalar()))
		keys["mode"] = described("How many targets: one, all, a number, a percentage.", scalar())
		keys["seed"] = described("The seed that chooses targets.", scalar())
		keys["for"] = described("How long a fault lasts, a statement must stay true, or must not become true.", ref("duration"))
	case ActionHeal:
		keys["heal"] = described("Heals the faults of steps: their names, or all.", oneOrMore())
	case ActionWait:
		keys["wait"] = described("Waits until it is true; on a timeout the scenario ends.", ref("statement"))
		keys["within"] = described("The time limit; default 60s.", ref("duration"))
	case ActionExpect:
		keys["expect"] = described("Waits until it is true; on a timeout the scenario fails, and continues.", ref("statement"))
	case ActionNever:
		keys["never"] = described("Fails if it is ever true.", ref("statement"))
		keys["until"] = described("A later step, or end: it must not become true before that.", text())
	case ActionRun:
		keys["run"] = described("A command: kubectl, govc or vsphere-sandbox with arguments.", listOf(scalar()))
		keys["stdin"] = described("The input of the command.", text())
		keys["exit"] = described("The required exit status; default 0.", scalar())
		keys["stdout"] = described("A regular expression that matches its output.", text())
		keys["stderr"] = described("A regular expression that matches its errors.", text())
	case ActionSet:
		pick := object{"field": described("A field of the object; also labels.KEY and addresses.0.", text())}
		for _, kind := range world.Kinds() {
			pick[string(kind)] = scalar()
		}
		keys["set"] = described("Names values of the world, for ${name} in later steps.", mapOf(closed("", pick, "field")))
	}
	return keys
}

// statementSchema returns the schema of a statement, or of a list of statements that must all be true.
func statementSchema() object {
	return object{"anyOf": []any{ref("one"), listOf(ref("one"))}}
}

func statementSchemas() []any {
	var all []any
	for _, kind := range world.Kinds() {
		all = append(all, rowsSchema(kind))
	}
	count := func(what string) object { return described(what, scalar()) }
	since := described("The start of counting: start, step, or the name of a step.", text())
	order := object{"type": "array", "minItems": 2, "items": ref("event")}
	return append(all,
		closed("An event happened, or how often.", object{"event": ref("event")}, "event"),
		closed("Events happened in this order.", object{"events": object{"anyOf": []any{
			order, closed("", object{"order": order, "caused": described("Each is caused by the one before.", scalar()), "since": since}, "order"),
		}}}, "events"),
		closed("The number of calls to vCenters.", object{"calls": closed("", object{
			"vcenter": text(), "client": described("ccm, csi, govc, sandbox, or a part of a User-Agent.", text()), "method": oneOrMore(),
			"count": count(`How many: 3, ">= 2".`), "errors": count("How many of them failed."), "since": since,
		})}, "calls"),
		closed("A log has a line, or how many.", object{"log": closed("", object{
			"component": text(), "matches": described("A regular expression that matches the line.", text()), "count": count(`How many: 3, ">= 2".`), "since": since,
		}, "component", "matches")}, "log"),
		closed("The value of a metric.", object{"metric": closed("", object{
			"component": text(), "name": text(), "labels": mapOf(scalar()), "value": count(`The sum of its series: 3, ">= 2".`), "since": since,
		}, "component", "name", "value")}, "metric"),
		closed("All of these.", object{"all": listOf(ref("one"))}, "all"),
		closed("One of these.", object{"any": listOf(ref("one"))}, "any"),
	)
}

// rowsSchema returns the schema of a statement about objects of a kind.
func rowsSchema(kind world.Kind) object {
	fields := object{}
	for _, f := range kind.Fields() {
		fields[f.Name] = ref("value")
	}
	whole := object{"exists": scalar(), "count": described(`How many: 3, ">= 2"; default all.`, scalar())}
	maps.Copy(whole, fields)
	if kind == world.Node {
		whole["noTaints"] = described("Taints that are not allowed.", oneOrMore())
	}
	whole[string(kind)] = object{
		"description": "A name, names, all, or fields that select objects.", "anyOf": []any{oneOrMore(), closed("", fields)},
	}
	return closed("", whole, string(kind))
}

// valueSchema returns the schema of the value of a field.
func valueSchema() object {
	one := object{"type": []string{"string", "number", "boolean", "null"}}
	return object{
		"description": `A text (* and ? are wildcards, /…/ a regular expression), a number or ">= 2", a list, or not: VALUE.`,
		"anyOf":       []any{one, listOf(one), object{"type": "object"}},
	}
}

func eventSchema() object {
	return closed("An event of the sandbox's log.", object{
		"kind": described("A pattern: node.deleted, vm.*", text()), "object": described("The object: worker-1, us/worker-1.", scalar()), "vcenter": text(),
		"plane":   object{"enum": []string{string(event.PlaneSandbox), string(event.PlaneVSphere), string(event.PlaneKubernetes)}},
		"level":   object{"enum": []string{string(event.Info), string(event.Warning), string(event.Error)}},
		"message": described("A regular expression that matches its message.", text()),
		"cause":   object{"description": "The name of a step, a kind of event, or an event among its causes.", "anyOf": []any{text(), ref("event")}},
		"count":   described(`How many: 3, ">= 2"; default at least one.`, scalar()), "since": described("The start of counting: start, step, or the name of a step.", text()),
	})
}
