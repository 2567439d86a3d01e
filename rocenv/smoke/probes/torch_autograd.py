# /// probe
# summary: gradients of a small network against double precision on the CPU, and sixty steps of training
# level: framework
# needs: torch
# timeout: 240
# ///
# The bound: a gradient is a sum of some hundred products through four layers, each rounded to 2^-24; 1e-5 of its size is
# eighty times the square root of what adds up, and a hundredth of what the reduced types of a matrix unit would leave.
from torch_prelude import *

INPUTS, WIDTH, CLASSES, SAMPLES = 61, 131, 10, 257


def network(torch):
    nn = torch.nn
    return nn.Sequential(nn.Linear(INPUTS, WIDTH), nn.GELU(), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, CLASSES))


def loss_of(torch, net, inputs, labels):
    return torch.nn.functional.cross_entropy(net(inputs), labels)


def check(torch, device):
    exact, inputs, labels = network(torch).double(), torch.randn(SAMPLES, INPUTS).double(), torch.arange(SAMPLES) % CLASSES
    net = network(torch)
    net.load_state_dict({name: value.float() for name, value in exact.state_dict().items()})
    exact.load_state_dict({name: value.double() for name, value in net.state_dict().items()})
    net, near = net.to(device), inputs.float()
    exact_loss = loss_of(torch, exact, near.double(), labels)
    exact_loss.backward()
    near, labels = near.to(device), labels.to(device)
    first = loss_of(torch, net, near, labels)
    first.backward()
    figures = {"gradient_error": 0.0, "loss_error": hold(off(first, exact_loss), 1e-5, "the loss")}
    first = float(first.detach())
    for (name, parameter), wanted in zip(net.named_parameters(), exact.parameters()):
        error = off(on_device(parameter.grad, device), wanted.grad)
        figures["gradient_error"] = max(figures["gradient_error"], hold(error, 1e-5, "the gradient of %s" % name))
    for _ in range(60):  # steps by hand: torch.optim's first one imports torch._dynamo, seconds for nothing
        net.zero_grad()
        loss = loss_of(torch, net, near, labels)
        loss.backward()
        with torch.no_grad():
            for parameter in net.parameters():
                parameter -= 0.3 * parameter.grad
    last = float(loss.detach())
    figures.update(first_loss=round(first, 4), last_loss=round(last, 4))
    if not last < 0.5 * first:
        raise Fault("wrong numbers: training took the loss from %.3f to %.3f" % (first, last))
    return figures


with_torch(check)
